package notifier

import (
	"net/http"
	"testing"

	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/webhook"
	"payledger/notifier/signature"
)

// TestOrderly: each event that has a webhook comes exactly once to each endpoint that wants it,
// verified, with the state at the event; nothing comes again after an orderly restart (§6.1, D17).
func TestOrderly(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url + "/all")
	r.endpoint(inbox.url+"/status", "PAYMENT.STATUS")
	r.endpoint(inbox.url+"/disputes", "DISPUTE.OPENED")
	want := map[string]payment.Status{}
	answers := []processor.State{processor.Succeeded, processor.Declined, processor.Failed, processor.Pending}
	const payments = 40
	for i := range payments {
		s := r.pay(answers[i%len(answers)])
		want[string(s.ID)] = s.Status()
	}
	hooks := inbox.waitFor(2 * payments)
	for _, h := range hooks {
		if h.path == "/disputes" || h.EventType != webhook.PaymentStatus || h.Sequence != 2 || h.Version != "2.1" {
			t.Errorf("%s got %s", h.path, h.body)
		}
		if status := want[string(h.Payment.ID)]; h.Payment.Status != status {
			t.Errorf("payment %s came as %s, expected %s", h.Payment.ID, h.Payment.Status, status)
		}
		if h.header.Get("Content-Type") != "application/json" || h.header.Get("User-Agent") == "" || h.header.Get(signature.HeaderSecondary) != "" {
			t.Errorf("headers %v", h.header)
		}
	}
	for what, n := range count(hooks) {
		if n != 1 {
			t.Errorf("%s came %d times", what, n)
		}
	}
	if err := r.notifier.Healthy(); err != nil {
		t.Error(err)
	}
	r.stop()
	r.start()
	r.pay(processor.Succeeded)
	inbox.waitFor(2)
	r.stop()
	inbox.none()
	r.start()
	records := r.records()
	if got := statuses(records); got != "planned 0, succeeded 82, failed 0" {
		t.Error(got)
	}
	for name, d := range records {
		if len(d.Attempts) != 1 || d.Attempts[0].StatusCode != 200 || d.Attempts[0].Number != 1 || d.Attempts[0].StartedAt.IsZero() {
			t.Errorf("%s: %+v", name, d.Attempts)
		}
	}
}

// TestHangingEndpoint checks that, while one endpoint hangs with all its attempts, another gets all
// its webhooks (D18). The waiting webhooks of the first are sent when it answers again.
func TestHangingEndpoint(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hang := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	dead := newReceiver(t, map[string]http.HandlerFunc{"/": hang})
	good := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	r.endpoint(dead.url + "/")
	r.endpoint(good.url + "/")
	const payments = 5 * AttemptsAtOnce
	for range payments {
		r.pay(processor.Succeeded)
	}
	good.waitFor(payments)
	dead.waitFor(AttemptsAtOnce)
	dead.none()
	close(release)
	dead.waitFor(payments - AttemptsAtOnce)
	r.stop()
	good.none()
	dead.none()
}

// TestEndpointJustMade: an endpoint that was there before the payment gets its webhook, however far
// the views are behind.
func TestEndpointJustMade(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	r := newRig(t)
	r.start()
	for range 20 {
		id := r.endpoint(inbox.url)
		r.pay(processor.Succeeded)
		for seen := false; !seen; {
			seen = inbox.waitFor(1)[0].NotificationConfig.ID == id
		}
	}
}
