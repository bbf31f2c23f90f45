package httpapi_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
	"payledger/processorsim/protocol"
)

var bulkFields = regexp.MustCompile(`name="(payment|delivery|key|reason)" value="([^"]*)"`)

// bulkForm returns the hidden fields of the form that the page shows.
func (s *site) bulkForm() (fields []string) {
	for _, m := range bulkFields.FindAllStringSubmatch(s.now.text, -1) {
		fields = append(fields, m[1], m[2])
	}
	return fields
}

// TestBulkRefund: a bulk refund shows number and sum first, leaves payments with a dispute out,
// lists each failure, and refunds nothing twice however often the form is sent.
func TestBulkRefund(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	var ids []string
	for range 4 {
		at := s.paid(goodCard, "")
		s.want(s.post(at+"/capture", ""), 200, "")
		ids = append(ids, strings.TrimPrefix(at, "/payments/"))
	}
	s.paid(goodCard, "") // has nothing to refund
	_, err := s.sim.OpenDispute(t.Context(), protocol.DisputeOrder{Reference: domain.PaymentID(ids[3]), Type: processor.Chargeback, ReasonCode: "10.4"})
	must(t, err)
	s.disputeIs(ids[3], "OPEN")
	refunded := func(id string) float64 {
		return s.want(s.get("/payments/"+id), 200, "").field("processor").(map[string]any)["amountRefunded"].(float64)
	}

	s.open("/dashboard/bulk/refund") // without a filter
	if s.now.at != "/dashboard/payments" {
		t.Errorf("without filters it shows %s", s.now.at)
	}
	s.open("/dashboard/payments?order=order-1")
	s.shows(200, "Refund these")
	s.open("/dashboard/bulk/refund?order=order-1")
	s.shows(200, "Refund 3 payments?", "In sum €72.60", "1 payment is left out", "it has a dispute")
	form := s.bulkForm()
	s.want(s.post("/payments/"+ids[1]+"/refund", `{"amount":100}`), 200, "") // somebody else, meanwhile
	for _, want := range []string{"2 of 3 refunds were requested now", "0 of 3 refunds were requested now"} {
		s.submit("/dashboard/bulk/refund", append(form, "reason", "recall")...)
		s.shows(200, want, "1 failed:", ids[1])
		if refunded(ids[0]) != 2420 || refunded(ids[1]) != 100 || refunded(ids[2]) != 2420 || refunded(ids[3]) != 0 {
			t.Errorf("refunded %v, %v, %v, %v", refunded(ids[0]), refunded(ids[1]), refunded(ids[2]), refunded(ids[3]))
		}
	}
	s.shows(200, "2 had been requested by an earlier sending of this form, and nothing was done a second time.")
	late := strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	s.want(s.post("/payments/"+late+"/capture", ""), 200, "")
	s.open("/dashboard/bulk/refund?order=order-1")
	s.shows(200, "Refund 2 payments?") // the new one, and the rest of ids[1]
	form = s.bulkForm()
	_, err = s.sim.OpenDispute(t.Context(), protocol.DisputeOrder{Reference: domain.PaymentID(late), Type: processor.Chargeback, ReasonCode: "10.4"})
	must(t, err)
	s.disputeIs(late, "OPEN")
	s.submit("/dashboard/bulk/refund", form...)
	s.shows(200, "1 of 2 refunds were requested now", "1 failed:", late, "dispute")
	if refunded(late) != 0 || refunded(ids[1]) != 2420 {
		t.Errorf("refunded %v and %v", refunded(late), refunded(ids[1]))
	}
	s.open("/dashboard/bulk/refund?order=order-1&status=DECLINED")
	s.shows(200, "There is nothing to refund")
	for _, wrong := range [][]string{
		{"payment", "x", "key", "k"}, {"payment", ids[0] + ":0:1", "key", "k"}, {"payment", ids[0] + ":5:1"},
		{"payment", ids[0] + ":5:1", "payment", ids[0] + ":5:2", "key", "k"},
	} {
		s.submit("/dashboard/bulk/refund", wrong...)
		s.shows(422, "begin again")
	}
	many := []string{"key", "k"}
	for i := range frame.BulkMost + 1 {
		many = append(many, "payment", fmt.Sprintf("p%d:5:1", i))
	}
	s.submit("/dashboard/bulk/refund", many...)
	s.shows(422, "begin again")
	auditor := s.as(account.RoleAuditor)
	auditor.open("/dashboard/payments?order=order-1")
	auditor.lacks("Refund these")
}

// TestBulkOfRowsInSight: the button of a bulk operation means the rows in sight, and those after
// them: it keeps the order of the list, and a later page of the list does not have it.
func TestBulkOfRowsInSight(t *testing.T) {
	t.Parallel()
	s, r := newHookSite(t)
	r.takes("/")
	var ids []string
	for range 3 {
		at := s.paid(goodCard, "")
		s.want(s.post(at+"/capture", ""), 200, "")
		ids = append(ids, strings.TrimPrefix(at, "/payments/"))
	}
	r.settled("outcome=SUCCEEDED", 6)
	for query, first := range map[string]string{"?order=order-1&sort=oldest": ids[0], "?order=order-1": ids[2]} {
		s.open("/dashboard/payments" + query)
		link := regexp.MustCompile(`href="(/dashboard/bulk/refund[^"]*)"`).FindStringSubmatch(s.now.text)
		if link == nil {
			t.Fatalf("%s has no button: %s", query, s.now.text)
		}
		s.open(html.UnescapeString(link[1]))
		s.shows(200, "Refund 3 payments?")
		if _, form, _ := strings.Cut(s.now.text, `name="payment" value="`); !strings.HasPrefix(form, first+":") {
			t.Errorf("%s: the form begins with another payment than %s: %s", query, first, form)
		}
	}
	for page, list := range map[string]string{"/dashboard/payments?order=order-1": "/payments?limit=1&order_id=order-1", "/dashboard/deliveries?outcome=SUCCEEDED": "/webhook-deliveries?limit=1&outcome=SUCCEEDED"} {
		s.open(page)
		s.shows(200, "these…")
		s.open(page + "&cursor=" + url.QueryEscape(s.want(s.manage("GET", list, ""), 200, "").text1("nextCursor")))
		s.shows(200)
		s.lacks("these…")
	}
}

// TestBulkResend: a bulk resend shows the number first, makes one attempt for each delivery, and
// lists each failure. A repeat sends nothing.
func TestBulkResend(t *testing.T) {
	t.Parallel()
	s, r := newHookSite(t)
	r.takes("/")
	for range 2 {
		s.paid(goodCard, "")
	}
	all := len(r.settled("outcome=SUCCEEDED", 2))
	s.open("/dashboard/deliveries?outcome=SUCCEEDED")
	s.shows(200, "Resend these")
	s.open("/dashboard/bulk/resend?outcome=SUCCEEDED")
	s.shows(200, "webhooks again?", "Nothing was sent yet.")
	s.lacks("can be sent")
	form := s.bulkForm()
	before := len(r.inbox.at("/"))
	for range 2 {
		s.submit("/dashboard/bulk/resend", form...)
		s.shows(200, "webhooks were accepted")
		if n := len(r.inbox.at("/")) - before; n != (len(form)-2)/2 || n < 2 || n < all {
			t.Errorf("%d webhooks came, the form has %d of %d", n, (len(form)-2)/2, all)
		}
	}
	s.open("/dashboard/bulk/resend?outcome=EXHAUSTED")
	s.shows(200, "There is nothing to send", "No delivery that fits the filters can be sent")
	s.submit("/dashboard/bulk/resend", append(form[:len(form):len(form)], form[2:4]...)...)
	s.shows(422, "cannot be read")
}
