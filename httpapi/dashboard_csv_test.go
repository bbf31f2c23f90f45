package httpapi_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
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
	declined := s.tokenize(s.session(`{"orderId":"＝1+1","currencyCode":"KWD","amount":1250,"customerId":"@ada","customer":{"emailAddress":"ada@example.com"}}`), "4000000000009995")
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
		1: "AUTHORIZED,,order-1,customer-7,ada@example.com,EUR,24.20,0.00,0.00,PAYMENT_CARD,VISA •••• 1111",
		2: "DECLINED,INSUFFICIENT_FUNDS,'＝1+1,'@ada,ada@example.com,KWD,1.250,0.000,0.000,PAYMENT_CARD,VISA •••• 9995",
	} {
		got := rows[row]
		if strings.Join(got[3:14], ",") != want {
			t.Errorf("row %d is %q, want %s", row, got, want)
		}
		for _, at := range got[1:3] {
			if !regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`).MatchString(at) {
				t.Errorf("a time is %q", at)
			}
		}
	}
}

// TestCSVInParts: the script's requests give the same file in parts. A file that is cut has a name
// that says so, and an ended session is an answer that the script knows.
func TestCSVInParts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	for range 3 {
		s.paid(goodCard, "")
	}
	whole := s.open("/dashboard/payments.csv")
	var parts strings.Builder
	for next, n := "", 0; n == 0 || next != ""; n++ {
		req, err := http.NewRequest(http.MethodGet, s.url+"/dashboard/payments.csv?cursor="+url.QueryEscape(next), nil)
		must(t, err)
		req.Header.Set("X-Dashboard-Part", "2")
		part := s.load(req)
		next = part.header.Get("X-Next-Cursor")
		if want := []string{"2", "1", ""}[n]; part.status != 200 || part.header.Get("X-Rows") != want || strings.Contains(part.header.Get("Content-Disposition"), "-first-2.csv") != (n == 0) {
			t.Fatalf("part %d: %d %v", n, part.status, part.header)
		}
		parts.WriteString(part.text)
	}
	if parts.String() != whole.text || whole.header.Get("X-Next-Cursor") != "" || strings.Contains(whole.header.Get("Content-Disposition"), "-first-") {
		t.Errorf("the parts are %q, the file is %q %v", parts.String(), whole.text, whole.header)
	}
	s.submit("/dashboard/logout")
	req, err := http.NewRequest(http.MethodGet, s.url+"/dashboard/payments.csv", nil)
	must(t, err)
	req.Header.Set("X-Dashboard-Part", "2")
	if ended := s.load(req); ended.status != http.StatusUnauthorized {
		t.Errorf("after the end of the session: %d", ended.status)
	}
}
