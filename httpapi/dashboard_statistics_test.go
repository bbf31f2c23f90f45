package httpapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
)

// TestStatisticsPage: the page has a chart or a table of each figure, each chart with its unit and
// its numbers as a table, for each range, and compares with the period before.
func TestStatisticsPage(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	s.paid(declinedCard, "")
	s.late.Store(24 * 3600)
	s.signIn()
	s.want(s.post(s.paid(goodCard, "")+"/capture", ""), 200, "")
	s.want(s.post("/payments/"+s.sold(goodCard, `{"orderId":"yen","currencyCode":"JPY","amount":500}`)+"/capture", ""), 200, "")
	for query, period := range map[string]string{"range=today": "Today", "range=7": "7 days", "range=30": "30 days", "range=90": "90 days", "range=custom&from=2026-01-01&to=2026-03-01": "1 Jan 2026"} {
		s.open("/dashboard/statistics?" + query)
		s.shows(200, period, "Changes are against")
	}
	s.open("/dashboard/statistics?range=7&currency=JPY")
	s.shows(200, "Volume in JPY")
	s.open("/dashboard/statistics?range=7&currency=EUR")
	s.shows(200, "Payments by status", "Volume in EUR", "Authorization rate by processor", "Authorization rate by hour of the day", "Dispute rate",
		"API requests", "API latency", "By processor", "By card network", "By country of the issuer", "Why payments are refused", "From session to capture",
		"3-D Secure", "Refunds and disputes", "Payments refunded")
	charts := regexp.MustCompile(`data-chart="([^"]*)"`).FindAllStringSubmatch(s.now.text, -1)
	if len(charts) < 7 {
		t.Errorf("%d charts", len(charts))
	}
	for _, id := range []string{"payments", "volume", "rates", "hours", "disputes", "requests", "latency"} {
		if !strings.Contains(s.now.text, `id="`+id+`-table"`) {
			t.Errorf("the chart %s has no table", id)
		}
	}
	s.open("/dashboard/statistics?range=today&compare=no")
	s.shows(200)
	s.lacks("Changes are against")
}

// TestIconAndName: each page has its name and the service's, and an icon.
func TestIconAndName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("/dashboard/login")
	if !strings.Contains(s.now.text, "· payledger sandbox</title>") {
		t.Errorf("the page is %s", s.now.text)
	}
	icon := regexp.MustCompile(`<link rel="icon" href="([^"]+)" type="image/svg\+xml">`).FindStringSubmatch(s.now.text)
	if icon == nil {
		t.Fatalf("no icon: %s", s.now.text)
	}
	if got := s.open(icon[1]); got.status != http.StatusOK || got.header.Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(got.text, "<svg") {
		t.Errorf("the icon is %d %v %.40s", got.status, got.header, got.text)
	}
}

// TestBrokenPage: the page of an internal failure has a number to name, what to look at, and a way
// on, and no detail of the failure; that of a failure that passes says to try again.
func TestBrokenPage(t *testing.T) {
	t.Parallel()
	s := siteOf(t, newRig(t, func(c *httpapi.Config) { c.Reader = faultyReader{c.Reader} }))
	s.signIn()
	const broken = "Something went wrong on our side"
	for id, text := range map[string]string{"panic": broken, "plain": broken, "store": "Not now"} {
		s.open("/dashboard/payments/" + id)
		if text == broken {
			s.shows(500, text, "Look at the payment or list first, then try again. Name this number if you report it:", "Go to the start page")
		} else {
			s.shows(503, text, "Nothing was recorded. Try again in a few seconds.", "Go to the start page")
		}
		s.lacks("at /var/lib", goodCard, "goroutine")
	}
}
