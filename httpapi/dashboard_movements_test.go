package httpapi_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/protocol"
)

// movementsOf reads the file of movements of the payments of some days, without its header.
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

// TestMovements: the file of movements has a row for each capture and refund, and for each step of
// a dispute that moved money or lost it, with its own date. The sums of the captures and refunds of
// a month's payments are those of the statistics of the month, also if a refund is of the next
// month.
func TestMovements(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	now := s.rig.now().UTC()
	month := time.Date(now.Year(), now.Month()+1, 20, 12, 0, 0, 0, time.UTC) // no day ends during the test
	moveTo := func(at time.Time) { s.late.Store(int64(time.Until(at) / time.Second)); s.signIn() }
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
	s.paid(goodCard, "") // authorized only
	s.dispute(euro, processor.DisputeWon)
	s.dispute(second, processor.DisputeLost)
	moveTo(month.AddDate(0, 1, 0))
	s.want(s.post(dinar+"/refund", `{"amount":1}`), 200, "")
	s.want(s.post(s.paid(goodCard, "")+"/capture", ""), 200, "")

	first := month.AddDate(0, 0, 1-month.Day())
	days := "from=" + first.Format(time.DateOnly) + "&to=" + first.AddDate(0, 1, -1).Format(time.DateOnly)
	rows := s.movementsOf(days)
	got := sums(t, rows)
	want := map[string]string{
		"EUR CAPTURE": "48.40", "EUR REFUND": "-1.50", "KWD CAPTURE": "1.001", "KWD REFUND": "-0.001",
		"EUR DISPUTE_OPEN": "-48.40", "EUR DISPUTE_WON": "24.20", "EUR DISPUTE_LOST": "0.00",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the sums are %v, want %v of\n%s", got, want, rows)
	}
	statistics := s.want(s.manage("GET", "/statistics?"+days, ""), 200, "")
	for _, c := range statistics.field("currencies").([]any) {
		of := c.(map[string]any)
		currency := of["currencyCode"].(string)
		for kind, minor := range map[string]float64{"CAPTURE": of["totalCaptured"].(float64), "REFUND": -of["totalRefunded"].(float64)} {
			digits := domain.Currency(currency).Digits()
			if want := new(big.Rat).SetFrac64(int64(minor), []int64{1, 10, 100, 1000}[digits]).FloatString(digits); got[currency+" "+kind] != want {
				t.Errorf("%s of %s: the file has %s, the statistics have %s", kind, currency, got[currency+" "+kind], want)
			}
		}
	}
	s.rowsAreWhole(rows, dinar, month)
	s.open("/dashboard/movements.csv?from=x")
	s.shows(422, "Write the day as in 2026-03-14.")
}

// rowsAreWhole checks the columns of the rows: the refund of a payment in another month has its own
// date, and no text is a formula.
func (s *site) rowsAreWhole(rows [][]string, refunded string, month time.Time) {
	s.t.Helper()
	at := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`)
	found := false
	for _, row := range rows {
		if !at.MatchString(row[0]) || !at.MatchString(row[10]) || row[6] == "" || row[7] == "" || row[8] != "ADYEN" || row[9] == "" {
			s.t.Errorf("a row is %q", row)
		}
		if "/payments/"+row[4] == refunded && row[1] == "REFUND" {
			found = strings.HasPrefix(row[0], month.AddDate(0, 1, 0).Format("2006-01-02 ")) && strings.HasPrefix(row[10], month.Format("2006-01-02 ")) && row[5] == "'=1+1"
		}
	}
	if !found {
		s.t.Errorf("the late refund has no row of its own: %q", rows)
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
