package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/deploy/connectors/stripe/double"
	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/connector"
	"payledger/processorsim/protocol"
)

// ledger is a receiver of notifications.
type ledger struct {
	*httptest.Server
	mu   sync.Mutex
	came []processor.SignedNotification
	some chan struct{}
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{some: make(chan struct{}, 100)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n, err := adapter.ParseNotification([]byte(secret), processor.Stripe, r.Header, body)
		if err != nil || n.Unreadable != "" {
			t.Errorf("%v %s", err, n.Unreadable)
		}
		l.mu.Lock()
		l.came = append(l.came, n)
		l.mu.Unlock()
		l.some <- struct{}{}
	}))
	t.Cleanup(l.Close)
	return l
}

// wait returns the notifications when there are n.
func (l *ledger) wait(t *testing.T, n int) []processor.SignedNotification {
	t.Helper()
	for {
		l.mu.Lock()
		came := slices.Clone(l.came)
		l.mu.Unlock()
		if len(came) >= n {
			return came
		}
		<-l.some
	}
}

// do sends an operation to the connector.
func (r *rig) do(op processor.Operation) processor.Answer {
	r.t.Helper()
	a, err := r.kit.Send(r.t.Context(), op)
	if err != nil {
		r.t.Fatalf("%s: %v", op.Kind, err)
	}
	return a
}

// paid makes a captured payment, and returns the authorization and the capture.
func (r *rig) paid(number string, l *ledger) (sale, capture processor.Answer) {
	r.t.Helper()
	o := authorization(number).Operation
	c := order(processor.Capture, "").Operation
	if l != nil {
		o.NotifyURL, c.NotifyURL = l.URL, l.URL
	}
	sale = r.do(o)
	c.ParentID, c.Final = sale.ProcessorTransactionID, true
	return sale, r.do(c)
}

// TestSignature: a message counts only with Stripe's signature of these bytes, at about this time.
func TestSignature(t *testing.T) {
	r := newRig(t)
	body := []byte(`{"id":"evt_1","type":"charge.updated","livemode":false,"data":{"object":{"id":"ch_1","object":"charge"}}}`)
	now := r.clock.Now()
	good := double.Signature(webhookSecret, now, body)
	for name, row := range map[string]struct {
		signature string
		body      []byte
		want      int
	}{
		"good":           {good, body, 200},
		"two secrets":    {good + ",v1=" + strings.Repeat("0", 64), body, 200},
		"none":           {"", body, 400},
		"another secret": {double.Signature("whsec_other", now, body), body, 400},
		"another body":   {good, []byte(strings.Replace(string(body), "ch_1", "ch_2", 1)), 400},
		"old":            {double.Signature(webhookSecret, now.Add(-6*time.Minute), body), body, 400},
		"of the future":  {double.Signature(webhookSecret, now.Add(6*time.Minute), body), body, 400},
		"in tolerance":   {double.Signature(webhookSecret, now.Add(-4*time.Minute), body), body, 200},
		"two times":      {good + ",t=1", body, 400},
		"other scheme":   {strings.Replace(good, "v1=", "v0=", 1), body, 400},
		"no JSON":        {double.Signature(webhookSecret, now, []byte("{")), []byte("{"), 400},
		"other mode":     {double.Signature(webhookSecret, now, []byte(`{"id":"evt_1","livemode":true}`)), []byte(`{"id":"evt_1","livemode":true}`), 200},
		"garbage inside": {double.Signature(webhookSecret, now, []byte(`{"id":"evt_1","type":"refund.updated","livemode":false,"data":{"object":{"id":"../x","object":"refund"}}}`)), []byte(`{"id":"evt_1","type":"refund.updated","livemode":false,"data":{"object":{"id":"../x","object":"refund"}}}`), 200},
		"huge":           {good, []byte(strings.Repeat(" ", 2<<20)), 400},
	} {
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.web.URL+connector.EventsPath, strings.NewReader(string(row.body)))
		q.Header.Set("Stripe-Signature", row.signature)
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != row.want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, row.want)
		}
	}
}

// TestChallenge: an action has a page and an opaque token; Stripe's word counts, whatever the
// browser says.
func TestChallenge(t *testing.T) {
	for name, row := range map[string]struct {
		act     func(*double.Double)
		outcome processor.Outcome
		want    processor.State
	}{
		"passed":                        {func(d *double.Double) { d.Act("", true) }, processor.Authenticated, processor.Succeeded},
		"passed, the browser says not":  {func(d *double.Double) { d.Act("", true) }, processor.AuthenticationFailed, processor.Succeeded},
		"failed, the browser says not":  {func(d *double.Double) { d.Act("", false) }, processor.Authenticated, processor.Declined},
		"given up":                      {func(*double.Double) {}, processor.AuthenticationFailed, processor.Declined},
		"nothing yet, the browser lies": {func(*double.Double) {}, processor.Authenticated, processor.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			o := authorization("4000000000003220").Operation
			o.ReturnURL = "https://shop.example/back"
			asked := r.do(o)
			if asked.State != processor.ActionRequired || asked.ActionURL != r.stripe.URL+"/customer/"+asked.ProcessorTransactionID || strings.Contains(asked.ActionToken, "secret") {
				t.Fatalf("%+v", asked)
			}
			if r.double.ReturnURL(asked.ProcessorTransactionID) != o.ReturnURL {
				t.Error("Stripe does not know the page to return to")
			}
			row.act(r.double)
			c := order(processor.Complete, asked.ProcessorTransactionID).Operation
			c.Outcome = row.outcome
			if got := r.do(c); got.State != row.want || got.State == processor.Declined && got.Code != "1A" {
				t.Errorf("%+v", got)
			}
			if row.want == processor.Pending { // an hour later the customer has not acted
				r.clock.Advance(2 * time.Hour)
				found, err := r.kit.Lookup(t.Context(), processor.Stripe, c.Key)
				if err != nil || found.Answer.State != processor.Declined {
					t.Errorf("%+v %v", found.Answer, err)
				}
			}
			r.double.Act("", true) // too late
			found, err := r.kit.Lookup(t.Context(), processor.Stripe, o.Key)
			if want := map[bool]processor.State{true: processor.Declined, false: row.want}[row.want == processor.Pending]; err != nil || found.Answer.State != want {
				t.Errorf("%+v %v", found.Answer, err)
			}
		})
	}
}

// TestEventsAnyOrder: events that come late, twice and out of order lead to one notification of the
// true state. A refund that fails after Stripe called it done is notified as well.
func TestEventsAnyOrder(t *testing.T) {
	r, l := newRig(t), newLedger(t)
	sale, _ := r.paid("4000000000007726", l)
	refund := order(processor.Refund, sale.ProcessorTransactionID).Operation
	refund.NotifyURL = l.URL
	if pending := r.do(refund); pending.State != processor.Pending {
		t.Fatalf("%+v", pending)
	}
	r.double.Settle()
	events := r.double.Undelivered()
	slices.Reverse(events)
	for _, e := range slices.Concat(events, events) {
		if status, err := r.double.Deliver(t.Context(), http.DefaultClient, r.web.URL+connector.EventsPath, e); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %v", e.Type, status, err)
		}
	}
	n := l.wait(t, 1)
	if len(n) != 1 || n[0].Key != refund.Key || n[0].Answer.State != processor.Succeeded {
		t.Errorf("%+v", n)
	}
	if r.logs.String() != "" {
		t.Error(r.logs.String())
	}

	failing := newRig(t)
	sale, _ = failing.paid("4000000000005126", l)
	refund = order(processor.Refund, sale.ProcessorTransactionID).Operation
	refund.NotifyURL = l.URL
	if done := failing.do(refund); done.State != processor.Succeeded {
		t.Fatalf("%+v", done)
	}
	failing.double.Settle()
	failing.deliver()
	if n := l.wait(t, 2); n[1].Answer.State != processor.Failed || n[1].Answer.Code != protocol.CodeRefundFailed {
		t.Errorf("%+v", n[1])
	}
}

// TestEventOfUnknown: a message about an operation whose answer was lost tells its outcome. A
// message whose object cannot be read is refused, and comes again.
func TestEventOfUnknown(t *testing.T) {
	r, l := newRig(t), newLedger(t)
	o := authorization("4242424242424242").Operation
	o.NotifyURL = l.URL
	r.double.Order(&double.Fault{Mode: double.LostAfter, Path: intentsPath})
	if a, err := r.kit.Send(t.Context(), o); err == nil {
		t.Fatalf("%+v", a)
	}
	r.double.Order(&double.Fault{Mode: double.Unavailable, Path: intentsPath + "/"})
	statuses := r.deliver()
	if slices.Sort(statuses); statuses[0] != 200 || statuses[len(statuses)-1] != 400 {
		t.Errorf("%v", statuses)
	}
	if n := l.wait(t, 1); n[0].Key != o.Key || n[0].Answer.State != processor.Succeeded {
		t.Errorf("%+v", n)
	}
}

// TestDisputes: Stripe's disputes in the terms of D16.
func TestDisputes(t *testing.T) {
	for name, row := range map[string]struct {
		status   string
		evidence int64
		late     bool
		kind     processor.DisputeType
		want     processor.DisputeStatus
	}{
		"inquiry":          {"warning_needs_response", 0, false, processor.Retrieval, processor.DisputeOpen},
		"inquiry answered": {"warning_under_review", 1, false, processor.Retrieval, processor.DisputeChallenged},
		"inquiry closed":   {"warning_closed", 1, false, processor.Retrieval, processor.DisputeCancelled},
		"open":             {"needs_response", 0, false, processor.Chargeback, processor.DisputeOpen},
		"challenged":       {"under_review", 1, false, processor.Chargeback, processor.DisputeChallenged},
		"won":              {"won", 1, false, processor.Chargeback, processor.DisputeWon},
		"withdrawn":        {"won", 0, false, processor.Chargeback, processor.DisputeCancelled},
		"prevented":        {"prevented", 0, false, processor.Chargeback, processor.DisputeCancelled},
		"lost":             {"lost", 1, false, processor.Chargeback, processor.DisputeLost},
		"accepted":         {"lost", 0, false, processor.Chargeback, processor.DisputeAccepted},
		"expired":          {"lost", 0, true, processor.Chargeback, processor.DisputeExpired},
	} {
		t.Run(name, func(t *testing.T) {
			r, l := newRig(t), newLedger(t)
			sale, capture := r.paid("4242424242424242", l)
			id := r.double.Dispute(sale.ProcessorTransactionID, row.status, "product_not_received", "13.1")
			r.double.Rule(id, row.status, row.evidence, row.late)
			r.deliver()
			n := l.wait(t, 1)
			d := n[0].Dispute
			if len(n) != 1 || d == nil || d.Type != row.kind || d.Status != row.want || d.ReasonCode != "13.1" || d.Amount != 1000 || d.Currency != "EUR" || d.ID != id ||
				d.TransactionID != capture.ProcessorTransactionID || d.ChallengeBy.Before(time.Now()) || d.Wording != "product_not_received" {
				t.Errorf("%d notifications, %+v", len(n), d)
			}
		})
	}
}

// TestDisputeOfDoubtfulCapture: a dispute that comes while the outcome of its capture is not known
// is refused, so that Stripe sends it again. It is recorded once the outcome is known.
func TestDisputeOfDoubtfulCapture(t *testing.T) {
	r := newRig(t)
	sale := r.do(authorization("4242424242424242").Operation)
	c := order(processor.Capture, sale.ProcessorTransactionID).Operation
	c.Final = true
	r.double.Order(&double.Fault{Mode: double.LostAfter, Path: "/capture"})
	if a, err := r.kit.Send(t.Context(), c); err == nil {
		t.Fatalf("%+v", a)
	}
	r.deliver()
	r.double.Dispute(sale.ProcessorTransactionID, "needs_response", "fraudulent", "10.4")
	events := r.double.Undelivered()
	deliver := func(want int) {
		t.Helper()
		for _, e := range events {
			if status, err := r.double.Deliver(t.Context(), http.DefaultClient, r.web.URL+connector.EventsPath, e); err != nil || status != want {
				t.Fatalf("%s: %d %v, want %d", e.Type, status, err, want)
			}
		}
	}
	deliver(http.StatusServiceUnavailable)
	found, err := r.kit.Lookup(t.Context(), processor.Stripe, c.Key)
	if err != nil || found.Answer == nil || found.Answer.State != processor.Succeeded {
		t.Fatalf("%+v %v", found, err)
	}
	deliver(http.StatusOK)
	list, err := r.kit.Disputes(t.Context(), protocol.DisputeFilter{Reference: reference})
	if err != nil || len(list.Notifications) != 1 || !strings.Contains(string(list.Notifications[0]), found.Answer.ProcessorTransactionID) {
		t.Errorf("%s %v", list.Notifications, err)
	}
}

// TestDisputeOrder: events about a dispute that come in the wrong order end in its newest state,
// and the newest state has the newest time. Without a code of the scheme the reason is NONE.
func TestDisputeOrder(t *testing.T) {
	r, l := newRig(t), newLedger(t)
	sale, _ := r.paid("4242424242424242", l)
	id := r.double.Dispute(sale.ProcessorTransactionID, "needs_response", "general", "")
	first := r.double.Undelivered()
	r.double.Rule(id, "under_review", 1, false)
	r.deliver() // the newer first: state under_review
	r.double.Rule(id, "lost", 1, false)
	for _, e := range first { // the old ones: state lost
		if _, err := r.double.Deliver(t.Context(), http.DefaultClient, r.web.URL+connector.EventsPath, e); err != nil {
			t.Fatal(err)
		}
	}
	r.deliver()
	var newest processor.DisputeUpdate
	n := l.wait(t, 2)
	for _, one := range n {
		if one.Dispute.At.After(newest.At) {
			newest = *one.Dispute
		}
	}
	if len(n) != 2 || newest.Status != processor.DisputeLost || newest.ReasonCode != "NONE" {
		t.Errorf("%d, %+v", len(n), newest)
	}
}

// TestElsewhere: the lists have the captures and refunds that a merchant made on Stripe's own
// pages, each once, beside the connector's operations.
func TestElsewhere(t *testing.T) {
	r := newRig(t)
	sale := r.do(authorization("4242424242424242").Operation)
	part := order(processor.Capture, sale.ProcessorTransactionID).Operation
	part.Amount = 300
	own := r.do(part)
	r.double.CaptureElsewhere(sale.ProcessorTransactionID, 500, true)
	r.double.RefundElsewhere(sale.ProcessorTransactionID, 200)
	list := func(f protocol.Filter) (all []protocol.Entry) {
		t.Helper()
		if err := r.kit.Entries(t.Context(), f, func(e protocol.Entry) error { all = append(all, e); return nil }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	for name, f := range map[string]protocol.Filter{"payment": {Reference: reference}, "time": {From: r.clock.Now().Add(-time.Minute)}, "all": {}} {
		sums := map[processor.Kind]domain.Amount{}
		for _, e := range list(f) {
			if e.State != processor.Succeeded || e.Currency != "EUR" || e.Reference != reference || e.Processor != processor.Stripe || (e.ProcessorTransactionID == own.ProcessorTransactionID) != (e.Amount == 300) {
				t.Errorf("%s: %+v", name, e)
			}
			sums[e.Operation] += e.Amount
		}
		if sums[processor.Authorize] != 1000 || sums[processor.Capture] != 800 || sums[processor.Refund] != 200 {
			t.Errorf("%s: %v", name, sums)
		}
	}
	if found := list(protocol.Filter{From: r.clock.Now().Add(time.Hour)}); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// TestRefundOfElsewhere: a capture that was made on Stripe's own pages can be refunded by the id
// that the lists give it, up to its amount.
func TestRefundOfElsewhere(t *testing.T) {
	r := newRig(t)
	sale := r.do(authorization("4242424242424242").Operation)
	r.double.CaptureElsewhere(sale.ProcessorTransactionID, 300, false)
	r.double.CaptureElsewhere(sale.ProcessorTransactionID, 400, false)
	found, err := r.list(protocol.Filter{Reference: reference})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		if e.Operation != processor.Capture {
			continue
		}
		above := order(processor.Refund, e.ProcessorTransactionID).Operation
		above.Amount = e.Amount + 1
		if a := r.do(above); a.Code != protocol.CodeAboveCaptured {
			t.Errorf("above %s: %+v", e.ProcessorTransactionID, a)
		}
		refund := order(processor.Refund, e.ProcessorTransactionID).Operation
		refund.Amount = e.Amount
		if a := r.do(refund); a.State != processor.Succeeded {
			t.Errorf("of %s: %+v", e.ProcessorTransactionID, a)
		}
	}
	other := order(processor.Refund, "ch_other_elsewhere_300").Operation
	if a := r.do(other); a.Code != protocol.CodeParentNotFound {
		t.Errorf("%+v", a)
	}
}

// TestSecrets: neither the log, nor the book, nor an answer has the API key, a secret or a card.
func TestSecrets(t *testing.T) {
	r := newRig(t)
	for _, mode := range []double.Mode{double.LostBefore, double.LostAfter, double.Garbage, double.Huge, double.Unavailable, double.Fails, double.RateLimited, double.Refused} {
		for _, path := range []string{intentsPath, "/v1/payment_methods"} {
			r.double.Order(&double.Fault{Mode: mode, Path: path, Change: func(any) any {
				return map[string]any{"error": map[string]any{"type": "invalid_request_error", "message": "Bad number 4242 4242 4242 4242, key " + apiKey[:9] + "…"}}
			}})
			answer, err := r.kit.Send(t.Context(), authorization("4242424242424242").Operation)
			text, _ := json.Marshal(answer)
			if err != nil {
				text = append(text, err.Error()...)
			}
			secretless(t, "answer", string(text))
		}
	}
	r.paid("4242424242424242", nil)
	secretless(t, "log", r.logs.String())
}

func secretless(t *testing.T, what, text string) {
	t.Helper()
	for _, hidden := range []string{"4242424242424242", "4242 4242", apiKey, webhookSecret, ledgerToken, secret, "Ada Lovelace"} {
		if strings.Contains(text, hidden) {
			t.Errorf("%s: %q stands in %.300s", what, hidden, text)
		}
	}
	if regexp.MustCompile(`\b739\b`).MatchString(text) {
		t.Errorf("%s: the CVV stands in %.300s", what, text)
	}
}
