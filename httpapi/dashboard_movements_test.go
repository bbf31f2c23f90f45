package httpapi_test

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// movementsOf reads the file of movements of some days, without its header.
func (s *site) movementsOf(days string) (rows [][]string) {
	s.t.Helper()
	s.open("/dashboard/movements.csv?" + days)
	text, marked := strings.CutPrefix(s.now.text, "\ufeff")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || !marked || s.now.status != 200 || len(rows) == 0 || s.now.header.Get("X-Rows") != fmt.Sprint(len(rows)-1) {
		s.t.Fatalf("%d %v %v %s", s.now.status, err, s.now.header, s.now.text)
	}
	return rows[1:]
}

// sums adds the amounts of movements by currency and type, in units.
func sums(t *testing.T, rows [][]string) map[string]string {
	t.Helper()
	total := map[string]*big.Rat{}
	digits := map[string]int{}
	for _, row := range rows {
		key := row[2] + " " + row[1]
		amount, ok := new(big.Rat).SetString(row[3])
		if !ok {
			t.Fatalf("an amount is %q", row[3])
		}
		if total[key] == nil {
			total[key] = new(big.Rat)
		}
		total[key].Add(total[key], amount)
		_, decimals, _ := strings.Cut(row[3], ".")
		digits[key] = len(decimals)
	}
	out := map[string]string{}
	for key, sum := range total {
		out[key] = sum.FloatString(digits[key])
	}
	return out
}

// moving returns a site, whose log has positions for its events, and a function that moves its
// clock on and signs in.
func moving(t *testing.T) (s *site, moveTo func(time.Time)) {
	r, _ := newFeedRig(t)
	s = siteOf(t, r)
	return s, func(at time.Time) { s.late.Store(int64(time.Until(at) / time.Second)); s.signIn() }
}

// monthOf returns the filter of a time's month.
func monthOf(at time.Time) string {
	first := at.AddDate(0, 0, 1-at.Day())
	return "from=" + first.Format(time.DateOnly) + "&to=" + first.AddDate(0, 1, -1).Format(time.DateOnly)
}

// TestMovements: the file of movements has a row for each capture and refund, and for each step of
// a dispute that moved money or lost it, of the days of its own date, whenever the payment was
// created. Over all months the sums of the captures and refunds are those of the statistics.
func TestMovements(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s, moveTo := moving(t)
	now := s.rig.now().UTC()
	month := time.Date(now.Year(), now.Month()+1, 20, 12, 0, 0, 0, time.UTC) // no day ends during the test
	moveTo(month)
	euro := s.paid(goodCard, "")
	s.want(s.post(euro+"/capture", `{"amount":2000,"final":false}`), 200, "")
	s.want(s.post(euro+"/capture", `{"amount":420}`), 200, "")
	s.want(s.post(euro+"/refund", `{"amount":150}`), 200, "")
	second := s.paid(goodCard, "")
	s.want(s.post(second+"/capture", ""), 200, "")
	dinar := "/payments/" + s.sold(goodCard, `{"orderId":"=1+1","currencyCode":"KWD","amount":1250}`)
	s.want(s.post(dinar+"/capture", `{"amount":1001}`), 200, "")
	s.paid(declinedCard, "")
	late := s.paid(goodCard, "") // captured in the next month
	s.dispute(euro, processor.DisputeWon)
	s.dispute(second, processor.DisputeLost)
	moveTo(month.AddDate(0, 1, 0))
	s.want(s.post(dinar+"/refund", `{"amount":1}`), 200, "")
	s.want(s.post(late+"/capture", `{"amount":700}`), 200, "")
	s.dispute(late, processor.DisputeLost)
	s.positioned()

	total := map[string]*big.Rat{}
	var all [][]string
	for n, want := range []map[string]string{
		{"EUR CAPTURE": "48.40", "EUR REFUND": "-1.50", "KWD CAPTURE": "1.001", "EUR DISPUTE_OPEN": "-48.40", "EUR DISPUTE_WON": "24.20", "EUR DISPUTE_LOST": "0.00"},
		{"EUR CAPTURE": "7.00", "KWD REFUND": "-0.001", "EUR DISPUTE_OPEN": "-7.00", "EUR DISPUTE_LOST": "0.00"},
	} {
		at := month.AddDate(0, n, 0)
		rows := s.movementsOf(monthOf(at))
		got := sums(t, rows)
		if !maps.Equal(got, want) {
			t.Errorf("the sums are %v, want %v of\n%s", got, want, rows)
		}
		s.rowsAreWhole(rows, at)
		all = append(all, rows...)
		for key, sum := range got {
			amount, _ := new(big.Rat).SetString(sum)
			total[key] = amount.Add(amount, cmp.Or(total[key], new(big.Rat)))
		}
	}
	if refund := s.movementsOf(monthOf(month.AddDate(0, 1, 0)) + "&currency=KWD"); len(refund) != 1 || "/payments/"+refund[0][4] != dinar || refund[0][5] != "'=1+1" || !strings.HasPrefix(refund[0][10], month.Format("2006-01-02 ")) {
		t.Errorf("the late refund is %q", refund)
	}
	s.sameAsBooks(all)
	s.sameAsStatistics("from="+month.Format(time.DateOnly)+"&to="+month.AddDate(0, 1, 0).Format(time.DateOnly), total)
	s.open("/dashboard/movements.csv?from=x")
	s.shows(422, "Write the day as in 2026-03-14.")
}

// sameAsBooks compares the captures and refunds with the processors' books: each row names its
// operation as the books do.
func (s *site) sameAsBooks(rows [][]string) {
	s.t.Helper()
	lines, err := s.sim.Books(s.t.Context(), adapter.Filter{})
	must(s.t, err)
	var got, want []string
	for _, row := range rows {
		if row[1] == "CAPTURE" || row[1] == "REFUND" {
			got = append(got, fmt.Sprintln(row[1], row[4], row[7], strings.TrimPrefix(row[3], "-"), row[2]))
		}
	}
	for _, line := range lines {
		if kind := strings.ToUpper(string(line.Operation)); (kind == "CAPTURE" || kind == "REFUND") && line.State == processor.Succeeded {
			digits := line.Currency.Digits()
			amount := new(big.Rat).SetFrac64(int64(line.Amount), []int64{1, 10, 100, 1000}[digits]).FloatString(digits)
			want = append(want, fmt.Sprintln(kind, line.Reference, line.ProcessorTransactionID, amount, line.Currency))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(slices.Compact(got)) < 7 {
		s.t.Errorf("the files have\n%s\nthe books have\n%s", got, want)
	}
}

// sameAsStatistics compares the sums of captures and refunds with those of the statistics.
func (s *site) sameAsStatistics(days string, got map[string]*big.Rat) {
	s.t.Helper()
	statistics := s.want(s.manage("GET", "/statistics?"+days, ""), 200, "")
	for _, c := range statistics.field("currencies").([]any) {
		of := c.(map[string]any)
		currency := of["currencyCode"].(string)
		for kind, minor := range map[string]float64{"CAPTURE": of["totalCaptured"].(float64), "REFUND": -of["totalRefunded"].(float64)} {
			digits := domain.Currency(currency).Digits()
			want := new(big.Rat).SetFrac64(int64(minor), []int64{1, 10, 100, 1000}[digits])
			if sum := cmp.Or(got[currency+" "+kind], new(big.Rat)); sum.Cmp(want) != 0 {
				s.t.Errorf("%s of %s: the files have %s, the statistics have %s", kind, currency, sum, want)
			}
		}
	}
}

// TestMovementsInParts: the script's requests give the same file in parts, each with the part of
// the time that is read. Filters that are none of movements leave the file out.
func TestMovementsInParts(t *testing.T) {
	t.Parallel()
	s, moveTo := moving(t)
	now := s.rig.now().UTC()
	moveTo(time.Date(now.Year(), now.Month()+1, 20, 12, 0, 0, 0, time.UTC))
	for range 3 {
		s.want(s.post(s.paid(goodCard, "")+"/capture", ""), 200, "")
	}
	s.positioned()
	days := monthOf(s.rig.now().UTC())
	whole := s.open("/dashboard/movements.csv?" + days)
	var parts strings.Builder
	n, last := 0, -1.0
	for next := ""; n == 0 || next != ""; n++ {
		req, err := http.NewRequest(http.MethodGet, s.url+"/dashboard/movements.csv?"+days+"&cursor="+url.QueryEscape(next), nil)
		must(t, err)
		req.Header.Set("X-Dashboard-Part", "2")
		part := s.load(req)
		next = part.header.Get("X-Next-Cursor")
		share, err := strconv.ParseFloat(part.header.Get("X-Share"), 64)
		if part.status != 200 || next != "" && (err != nil || share <= last || share > 1) || strings.Contains(part.header.Get("Content-Disposition"), "-first-") != (next != "") {
			t.Fatalf("part %d: %d %v", n, part.status, part.header)
		}
		last = share
		parts.WriteString(part.text)
	}
	if parts.String() != whole.text || n < 2 || strings.Count(whole.text, "CAPTURE") != 3 || whole.header.Get("X-Next-Cursor") != "" {
		t.Errorf("%d parts are %q, the file is %q %v", n, parts.String(), whole.text, whole.header)
	}
	if empty := s.movementsOf(monthOf(s.rig.now().UTC().AddDate(0, -1, 0))); len(empty) > 0 {
		t.Errorf("the month before has %q", empty)
	}
	s.open("/dashboard/payments?currency=EUR&" + days)
	s.shows(200, "Movements as CSV")
	s.open("/dashboard/payments?status=SETTLED&" + days)
	s.shows(200, "Download as CSV")
	s.lacks("Movements as CSV")
	s.open("/dashboard/movements.csv?status=SETTLED&" + days)
	s.shows(200, "Download as CSV")
}

// rowsAreWhole checks the columns of the rows: each has its own date, of the month.
func (s *site) rowsAreWhole(rows [][]string, month time.Time) {
	s.t.Helper()
	at := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`)
	for _, row := range rows {
		if !strings.HasPrefix(row[0], month.Format("2006-01-02 ")) || !at.MatchString(row[0]) || !at.MatchString(row[10]) || row[6] == "" || row[7] == "" || row[8] != "ADYEN" || row[9] == "" {
			s.t.Errorf("a row is %q", row)
		}
	}
}

// dispute opens a dispute of a payment's capture and decides it.
func (s *site) dispute(at string, status processor.DisputeStatus) {
	s.t.Helper()
	id := strings.TrimPrefix(at, "/payments/")
	opened, err := s.sim.OpenDispute(s.t.Context(), protocol.DisputeOrder{Reference: domain.PaymentID(id), Type: processor.Chargeback, ReasonCode: "10.4"})
	must(s.t, err)
	s.disputeIs(id, "OPEN")
	_, err = s.sim.ChangeDispute(s.t.Context(), opened.ID, protocol.DisputeChange{Status: status})
	must(s.t, err)
	s.disputeIs(id, string(status))
}
