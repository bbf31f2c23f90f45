package httpapi_test

import (
	"encoding/csv"
	"regexp"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// TestCSV: the list of payments as a file for spreadsheets: a byte order mark, amounts in units
// with the currency beside, times of one width in UTC, reason and card; no text is a formula.
func TestCSV(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	declined := s.tokenize(s.session(`{"orderId":"＝1+1","currencyCode":"KWD","amount":1250,"customerId":"@ada"}`), "4000000000009995")
	s.want(s.post("/payments", `{"paymentMethodToken":"`+declined+`"}`), 200, "")
	s.paid(goodCard, "")
	s.open("/dashboard/payments.csv")
	text, marked := strings.CutPrefix(s.now.text, "\ufeff")
	if !marked || s.now.status != 200 || !strings.HasPrefix(s.now.header.Get("Content-Disposition"), "attachment") {
		t.Fatalf("%d %v %s", s.now.status, s.now.header, s.now.text)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v %q", err, rows)
	}
	for row, want := range map[int]string{
		1: "AUTHORIZED,,order-1,customer-7,EUR,24.20,0.00,0.00,PAYMENT_CARD,VISA •••• 1111",
		2: "DECLINED,INSUFFICIENT_FUNDS,'＝1+1,'@ada,KWD,1.250,0.000,0.000,PAYMENT_CARD,VISA •••• 9995",
	} {
		got := rows[row]
		if strings.Join(got[3:13], ",") != want {
			t.Errorf("row %d is %q, want %s", row, got, want)
		}
		for _, at := range got[1:3] {
			if !regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`).MatchString(at) {
				t.Errorf("a time is %q", at)
			}
		}
	}
}
