package servicetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
)

// TestWaitingMetrics: the metrics have the number of operations without an outcome, the oldest
// request and the time of the next query. They end with the outcome (D8).
func TestWaitingMetrics(t *testing.T) {
	t.Parallel()
	nobody := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // receives notifications and ignores them
	t.Cleanup(nobody.Close)
	o := apptest.TestOptions(t.TempDir())
	o.PublicURL = nobody.URL
	app := apptest.StartApp(t, o)
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	count := func(operation string, n int) string {
		return fmt.Sprintf("\npayledger_operations_waiting{operation=\"%s\",processor=\"ADYEN\",state=\"PENDING\"} %d\n", operation, n)
	}
	var before time.Time
	text := ""
	all := func() bool {
		return strings.Contains(text, count("capture", 2)) && strings.Contains(text, count("authorize", 1))
	}
	for round := 0; !all(); round++ { // else an outcome came first
		if round == 20 {
			t.Fatalf("never all of them:\n%s", text)
		}
		endWaiting(t, app)
		before = time.Now()
		first, _, _ := strings.Cut(string(apptest.PendingCapture(t, m, fmt.Sprint("order-", round))), ".")
		apptest.PendingCapture(t, m, fmt.Sprint("second-", round))
		later := fmt.Sprint("later-", round)
		if a, err := m.Pay(m.Token(t, later, 2500, "4000000000003220"), later); err != nil || a.Status != 200 {
			t.Fatal(string(a.Body), err)
		}
		for waits := true; waits && !all(); {
			text = readMetrics(t, app)
			p, _ := m.Read(t, first)
			waits = p.Status == "SETTLING"
		}
	}
	for name, bounds := range map[string][2]time.Time{
		"waiting_since_seconds": {before, time.Now()}, "next_lookup_seconds": {before, time.Now().Add(time.Hour)},
	} {
		line := regexp.MustCompile(`(?m)^payledger_operations_` + name + `\{operation="capture",processor="ADYEN",state="PENDING"\} (\S+)$`).FindStringSubmatch(text)
		if line == nil {
			t.Fatalf("no %s in\n%s", name, text)
		}
		at, err := strconv.ParseFloat(line[1], 64)
		if err != nil || at < float64(bounds[0].UnixMilli())/1000 || at > float64(bounds[1].UnixMilli())/1000 {
			t.Errorf("%s is %s: %v", name, line[1], err)
		}
	}
	endWaiting(t, app)
}

// endWaiting settles all operations, and waits until the metrics show none without an outcome.
func endWaiting(t *testing.T, app *app.App) {
	t.Helper()
	if _, err := app.Processors.Control().Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	apptest.Eventually(t, func() bool { return !strings.Contains(readMetrics(t, app), "\npayledger_operations_waiting{") })
}

// TestNextLookup: the next look-up of an operation comes from the schedule, or earlier if this
// process has one planned (D8).
func TestNextLookup(t *testing.T) {
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	requested := time.Now().Add(-time.Hour)
	at, asked := app.Recoverer.NextLookup("01nobody.1", requested)
	if wait := time.Until(at); !asked || wait < -time.Minute || wait > 5*time.Minute || (at.Sub(requested)-app.Recoverer.Patience())%(5*time.Minute) != 0 {
		t.Errorf("asked at %s", at)
	}
	if at, asked = app.Recoverer.NextLookup("01nobody.1", time.Time{}); asked {
		t.Errorf("one with an answer is asked about at %s", at)
	}
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	key := apptest.PendingCapture(t, m, "order-1")
	if at, asked = app.Recoverer.NextLookup(key, time.Now()); asked && time.Until(at) > app.Recoverer.Patience() {
		t.Errorf("asked at %s", at)
	}
}
