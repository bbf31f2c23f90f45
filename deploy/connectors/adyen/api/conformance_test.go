package api

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/processorsim/conformance"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// syncedLog is a log for many goroutines.
type syncedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *syncedLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *syncedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var furtherCards = map[protocol.TestCase]string{
	protocol.CardPending: cardPending, protocol.CardCaptureFails: cardCaptureFails, protocol.CardRefundFails: cardRefundFails,
	protocol.CardVoidFails: cardVoidFails, protocol.CardDisputed: cardDisputed,
}

// TestConformance: over the double, with webhooks that come twice and in any order, the connector
// keeps every promise that it does not declare itself unable to keep. No secret is in the log.
func TestConformance(t *testing.T) {
	d := newDouble(time.Now)
	adyen := httptest.NewServer(d)
	defer adyen.Close()
	log := &syncedLog{}
	v, err := New(Config{URL: adyen.URL + "/v71", APIKey: testKey, Account: testAccount, HMACKeys: [][]byte{testHMAC}, TestCards: furtherCards, Log: zerolog.New(log)})
	must(t, err)
	k, err := connector.New(t.Context(), connector.Config{
		Name: processor.Adyen, Vendor: v, Dir: t.TempDir(), Secret: []byte("notify"), Token: "token-of-the-ledger", Log: zerolog.New(log),
	})
	must(t, err)
	web := httptest.NewServer(k.Handler())
	stop := d.deliver(t, web.URL+connector.EventsPath)
	report, err := conformance.Run(t.Context(), conformance.Config{
		URL: web.URL, Processor: processor.Adyen, Token: "token-of-the-ledger", Secret: "notify", Destructive: true, Patience: 20 * time.Second,
	})
	stop()
	web.Close()
	must(t, k.Close(context.Background()))
	must(t, err)
	for _, f := range report.Checks {
		t.Logf("%-24s %-10s %s", f.ID, f.Result, f.Reason)
		if f.Result == conformance.Broken || f.Result == conformance.NotTried {
			t.Errorf("%s %s: %s %+v", f.ID, f.Result, f.Reason, f.Exchanges)
		}
	}
	t.Logf("%d hold, %d cannot", report.Count(conformance.Holds), report.Count(conformance.Cannot))
	secrets := []string{testKey, string(testHMAC), "token-of-the-ledger", cardPending, "4111111145551142", `"737"`, `"739"`}
	for _, secret := range secrets {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has the secret %s", secret)
		}
	}
	if t.Failed() {
		t.Log(log.String())
	}
}

// deliver sends webhooks until stop: each twice, and each batch in any order.
func (d *double) deliver(t *testing.T, address string) (stop func()) {
	t.Helper()
	end, ended := make(chan struct{}), make(chan struct{})
	send := func(body []byte) {
		for range 100 {
			response, err := http.Post(address, "application/json", bytes.NewReader(body)) //nolint:noctx // a test
			if err != nil {
				t.Error(err)
				return
			}
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		t.Error("a webhook is refused again and again")
	}
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-d.fresh:
			}
			list := d.drain()
			list = append(list, list...)
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			for _, body := range list {
				send(body)
			}
		}
	}()
	return func() { close(end); <-ended }
}
