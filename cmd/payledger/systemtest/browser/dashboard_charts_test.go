//go:build system && !race

package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestCharts: the charts of the dashboard are drawn from the numbers of the API, in light and dark,
// on a telephone and a desk. Each table has the numbers of the API. axe-core finds nothing, and the
// browser has nothing to complain of: the content security policy allows the chart library.
func TestCharts(t *testing.T) {
	t.Parallel()
	o, there := newOffice(t)
	if !there {
		return
	}
	t.Run("without payments", func(t *testing.T) { o.testNoCharts(t) })
	o.receive(t)
	captured := o.pay(t, approvedCard)
	o.merchant.Must(t, "POST", "/payments/"+captured+"/capture", o.merchant.Headers(), nil)
	for range 5 {
		o.pay(t, rejectedCard)
	}
	o.pay(t, approvedCard)
	o.sent(t)
	t.Run("table", o.testChartTables)
	t.Run("requests", o.testRequests)
	t.Run("webhooks", o.testWebhookRates)
	for _, l := range looks() { // at once at most as many as a user has sessions: a further sign-in ends the oldest
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel() // axe-core works for the whole time
			o.testCharts(t, l)
		})
	}
}

// receive makes two endpoints: the first accepts each webhook, the second refuses it.
func (o *office) receive(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/good" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(receiver.Close)
	m := o.merchant
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver.URL + "/good", "description": "The shop's receiver"})
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver.URL + "/bad/with/a/path/that/is/longer/than/a/legend"})
}

// sent waits until every webhook was tried once.
func (o *office) sent(t *testing.T) {
	var report struct {
		Webhooks struct{ Succeeded, Retrying, Waiting int }
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); report.Webhooks.Succeeded == 0 || report.Webhooks.Retrying == 0 || report.Webhooks.Waiting > 0; <-tick.C {
		if time.Since(began) > patience {
			t.Fatalf("the webhooks are %+v", report)
		}
		o.merchant.Must(t, "GET", "/management/statistics?from="+time.Now().UTC().AddDate(0, 0, -6).Format(time.DateOnly), o.merchant.Headers(), nil).Decode(t, &report)
	}
}

// testRequests checks the table of the API requests of today: the node has answered some, none
// before. The page names the time since when it counts. With a status, the payments of that status
// count, and the dispute rate is still of all.
func (o *office) testRequests(t *testing.T) {
	w := o.browser.tab(t, 1280, unsigned)
	o.signIn(w, "/dashboard/statistics?range=7&compare=no")
	w.until(drawn)
	if last := eval[string](w, `[...document.querySelectorAll("#requests-table tbody tr:last-child td")].map((td) => td.dataset.value).join(" ")`); !strings.HasSuffix(last, " 0") || strings.HasPrefix(last, "0 ") {
		t.Errorf("today's requests are %q", last)
	}
	if first := eval[string](w, `[...document.querySelectorAll("#requests-table tbody tr:first-child td")].map((td) => td.textContent).join(" ")`); first != "– – –" {
		t.Errorf("the requests before the start are %q", first)
	}
	if times := eval[string](w, `[...document.querySelectorAll("#latency-table tbody tr:last-child td")].map((td) => td.textContent).join(" ")`); strings.Count(times, "s") != 2 {
		t.Errorf("today's latencies are %q", times)
	}
	w.untilText("main", "nothing is known from before")
	w.load(o.app.Ready().API + "/dashboard/statistics?range=7&compare=no&status=FAILED")
	w.untilText("main", "count payments with the status Failed only")
	if heads := eval[string](w, `[...document.querySelectorAll("#payments-table thead th")].map((th) => th.textContent).join("|")`); heads != "Day, UTC|Failed" {
		t.Errorf("the payments of a status have %q", heads)
	}
	if rate := eval[string](w, `document.querySelector("#disputes-table tbody tr:last-child td").textContent`); rate != "0.0 %" {
		t.Errorf("today's dispute rate is %q", rate)
	}
}

// testWebhookRates checks the table of the endpoints: the endpoint that fails is first, with its
// URL. The endpoint that accepts webhooks has its description and times.
func (o *office) testWebhookRates(t *testing.T) {
	w := o.browser.tab(t, 1280, unsigned)
	o.signIn(w, "/dashboard/statistics?range=7&compare=no")
	w.until(drawn)
	var shown [][]string
	text := eval[string](w, `JSON.stringify([...document.querySelectorAll('[aria-labelledby="by-endpoint-h"] tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent)))`)
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown) != 2 || !strings.HasSuffix(shown[0][0], "/legend") || shown[0][1] != "0.0 %" || shown[0][4] != "–" || shown[1][0] != "The shop's receiver" ||
		shown[1][1] != "100.0 %" || !strings.Contains(shown[1][4], "s") || shown[1][2] != "100.0 %" {
		t.Errorf("the endpoints are %q", shown)
	}
	if heads := eval[string](w, `[...document.querySelectorAll("#webhooks-table thead th")].map((th) => th.textContent).join("|")`); !strings.HasPrefix(heads, "Day, UTC|http://") || !strings.HasSuffix(heads, "…|The shop's receiver") {
		t.Errorf("the chart has %q", heads)
	}
}

func (o *office) testNoCharts(t *testing.T) {
	w := o.browser.tab(t, 390, unsigned)
	w.withAxe(o.axe)
	o.signIn(w, "/dashboard/statistics")
	w.untilText("main", "There is nothing to show for these days.")
	w.accessible("statistics without payments")
	w.inSight("statistics without payments")
	w.picture("statistics-none")
}

// drawn is the condition that each chart has a canvas with more than one colour.
const drawn = `[...document.querySelectorAll("[data-canvas]")].every((box) => {
	const canvas = box.querySelector("canvas")
	if (!canvas || box.hidden) return false
	const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)
	return new Set(pixels).size > 2
})`

func (o *office) testCharts(t *testing.T, l look) {
	w := o.browser.look(t, l, unsigned)
	w.withAxe(o.axe)
	o.signIn(w, "/dashboard/statistics")
	for name, path := range map[string]string{
		"home": "/dashboard", "statistics": "/dashboard/statistics", "statistics-today": "/dashboard/statistics?range=today",
		"statistics-alone": "/dashboard/statistics?range=7&compare=no&status=FAILED",
	} {
		w.load(o.app.Ready().API + path)
		w.until(`document.querySelectorAll("[data-canvas]").length >= 2 && ` + drawn)
		at := name + " at " + l.String()
		w.accessible(at)
		w.inSight(at)
		w.picture(fmt.Sprintf("%s-%d-%t", name, l.width, l.dark))
		if open := eval[int](w, `document.querySelectorAll("details[data-numbers][open]").length`); open != 0 {
			t.Errorf("%s: %d tables are open beside their charts", at, open)
		}
		eval[string](w, `for (const table of document.querySelectorAll("[data-numbers]")) table.open = true; ""`)
		w.accessible(at + " with the tables")
		w.inSight(at)
	}
	w.load(o.app.Ready().API + "/dashboard/statistics")
	w.until(drawn)
	eval[string](w, `const over = document.querySelector("[data-canvas] .u-over"); const at = over.getBoundingClientRect();
		over.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, clientX: at.right - 8, clientY: at.top + 20})); ""`)
	w.until(`document.querySelector(".tooltip")?.hidden === false`)
	if tip := w.text(".tooltip"); !strings.Contains(tip, "5") {
		t.Errorf("at the newest bar the chart shows %q", tip)
	}
}

// testChartTables compares the table of the payments with the answer of the API.
func (o *office) testChartTables(t *testing.T) {
	w := o.browser.tab(t, 1280, unsigned)
	o.signIn(w, "/dashboard/statistics?range=7&compare=no")
	w.until(drawn)
	type row struct {
		At     string
		Values []string
	}
	var shown []row
	text := eval[string](w, `JSON.stringify([...document.querySelectorAll("#payments-table tbody tr")].map((row) => ({at: row.dataset.at, values: [...row.querySelectorAll("td")].map((td) => td.dataset.value)})))`)
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	heads := strings.Split(eval[string](w, `[...document.querySelectorAll("#payments-table thead th.amount")].map((th) => th.textContent).join("|")`), "|")
	from := time.Now().UTC().AddDate(0, 0, -6).Format(time.DateOnly)
	var report struct {
		ByDay []struct {
			Day      string
			Statuses []struct {
				Status   string
				Payments int
			}
		}
	}
	m := o.merchant
	m.Must(t, "GET", "/management/statistics?from="+from, m.Headers(), nil).Decode(t, &report)
	if len(shown) != len(report.ByDay) || len(shown) != 7 {
		t.Fatalf("the table has %d rows, the API %d days", len(shown), len(report.ByDay))
	}
	for i, day := range report.ByDay {
		at, err := time.Parse(time.DateOnly, day.Day)
		if err != nil || shown[i].At != fmt.Sprint(at.Unix()) {
			t.Errorf("row %d is at %s, the day is %s, %v", i, shown[i].At, day.Day, err)
		}
		numbers := map[string]string{}
		for n, head := range heads {
			numbers[strings.ToUpper(strings.ReplaceAll(head, " ", "_"))] = shown[i].Values[n]
		}
		for _, of := range day.Statuses {
			if numbers[of.Status] != fmt.Sprint(of.Payments) {
				t.Errorf("%s: %s payments are %s, the API has %d", day.Day, of.Status, numbers[of.Status], of.Payments)
			}
			delete(numbers, of.Status)
		}
		for status, n := range numbers {
			if n != "0" {
				t.Errorf("%s: the table has %s payments %s", day.Day, n, status)
			}
		}
	}
}
