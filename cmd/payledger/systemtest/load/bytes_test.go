//go:build system

package load

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

var weighed = flag.Int("weighed", 200, "how many payments TestBytes makes")

// weighedUsers is how many connections TestBytes pays over.
const weighedUsers = 16

// TestBytes: a payment with its session, card, capture and webhooks takes no more of the disk than
// promised, where others are made beside it. For figures: -weighed 2000.
func TestBytes(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	dir := t.TempDir()
	app := apptest.StartApp(t, apptest.TestOptions(dir))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(shop.Close)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": shop.URL})
	before, held := apptest.OnDisk(t, dir), apptest.LogSize(t, app)
	n := *weighed
	var running sync.WaitGroup
	for user := range weighedUsers {
		running.Go(func() {
			for i := user; i < n; i += weighedUsers {
				m.Weigh(t, fmt.Sprintf("order-%06d", i))
			}
		})
	}
	running.Wait()
	apptest.Eventually(t, func() bool {
		var page struct {
			Data []struct{} `json:"data"`
		}
		m.Must(t, "GET", "/management/webhook-deliveries?limit=1&outcome=PLANNED,FAILED", m.Headers(), nil).Decode(t, &page)
		return len(page.Data) == 0
	})
	log := apptest.LogSize(t, app)
	each := float64(log.Bytes-held.Bytes) / float64(n)
	t.Logf("%.0f bytes of the log a payment, %.1f events of %d bytes, %.2f a group", each, float64(log.Events-held.Events)/float64(n),
		log.EventBytes, float64(log.Events-held.Events)/float64(log.Groups-held.Groups))
	if each > 12000 { // every event is in its own group, as with few requests
		t.Errorf("a payment takes %.0f bytes of the log", each)
	}
	for name, bytes := range apptest.OnDisk(t, dir) {
		t.Logf("%6d bytes a payment: %s", (bytes-before[name])/int64(n), name)
	}
}
