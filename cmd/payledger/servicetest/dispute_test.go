package servicetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestDisputedCard: the card of D13 leads to a dispute once its payment is settled. The payment's
// history has the notification.
func TestDisputedCard(t *testing.T) {
	t.Parallel()
	r := apptest.NewDisputeRun(t, nil)
	id := r.Settled("order-1", apptest.CardDisputed, "ADYEN")
	if _, err := r.App.Processors.Control().Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
	var shown []apptest.ShownDispute
	r.Eventually("no dispute opened", func() bool {
		var page struct{ Data []apptest.ShownDispute }
		r.M.Must(t, "GET", "/management/disputes?paymentId="+id, r.M.Headers(), nil).Decode(t, &page)
		shown = page.Data
		return len(shown) > 0
	})
	hooks := r.Tells(shown[0].ProcessorDisputeID, "OPENED", "DISPUTE OPEN")
	if hooks[0].PaymentID != id {
		t.Errorf("%+v", hooks)
	}
	var history []byte
	r.Eventually("the history does not tell of it", func() bool {
		history = r.M.Must(t, "GET", "/payments/"+id+"/events", r.M.Headers(), nil).Body
		return strings.Contains(string(history), `"outcome":"APPLIED"`)
	})
	for _, text := range []string{`"disputePspReference":"` + shown[0].ProcessorDisputeID, `"effect":"dispute.opened"`, `"disputeId":"` + shown[0].ID, `"kind":"dispute"`} {
		if !strings.Contains(string(history), text) {
			t.Errorf("the history lacks %s: %s", text, history)
		}
	}
}

// TestDisputeFaults: notifications that are lost, late, doubled and reordered lead to the same
// disputes and the same webhooks: a lost one is found by asking (D14, D16).
func TestDisputeFaults(t *testing.T) {
	t.Parallel()
	r := apptest.NewDisputeRun(t, func(o *options.Options) { o.DisputeLookup = 50 * time.Millisecond })
	id := r.Settled("order-1", "4111111111111111", "CHECKOUT")
	rate := 0.4
	for mode, delay := range map[protocol.Mode]int{protocol.DropBefore: 0, protocol.Latency: 30, protocol.DuplicateNotification: 0, protocol.Reorder: 40} {
		fault := protocol.Fault{Operation: processor.Dispute, Mode: mode, Rate: &rate, DelayMs: delay}
		if err := r.App.Processors.Control().SetFault(context.Background(), fault); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for range 12 {
		d := r.Open(id, "DISPUTE")
		for _, place := range []string{"DISPUTE CHALLENGED", "DISPUTE LOST", "PREARBITRATION OPEN", "PREARBITRATION ACCEPTED"} {
			r.Change(d.ID, place)
		}
		ids = append(ids, d.ID)
	}
	for _, id := range ids {
		r.Eventually("a dispute does not end as its processor's", func() bool {
			s := r.Shows(id)
			return s.Type == "PREARBITRATION" && s.Status == "ACCEPTED" && len(s.History) == 5
		})
		shown, changes := r.Shows(id), 0
		for _, fact := range shown.History {
			switch fact.Verdict {
			case "OPENED", "CHANGED":
				changes++
			case "REJECTED":
				t.Errorf("%+v", shown)
			}
		}
		r.Eventually("webhooks are missing", func() bool { return len(r.Hooks(id)) >= changes+1 })
		opened, newest := 0, apptest.DisputeHook{}
		for _, h := range r.Hooks(id) {
			if h.EventType == "DISPUTE.OPENED" {
				opened++
			} else if h.Sequence > newest.Sequence {
				newest = h
			}
		}
		if got := len(r.Hooks(id)); got != changes+1 || opened != 1 || newest.Type+" "+newest.Status != "PREARBITRATION ACCEPTED" {
			t.Errorf("%d webhooks for %d changes, %d opened, the newest %+v", got, changes, opened, newest)
		}
	}
}

// TestLostWhileAway: notifications that were sent while the service was down are found at the next
// start, without waiting (D14.12).
func TestLostWhileAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := apptest.NewDisputeRun(t, func(o *options.Options) { o.Data, o.DisputeLookup = dir, time.Hour })
	id := r.Settled("order-1", "4111111111111111", "STRIPE")
	if err := r.App.Processors.Control().SetFault(context.Background(), protocol.Fault{Operation: processor.Dispute, Mode: protocol.DropBefore}); err != nil {
		t.Fatal(err)
	}
	d := r.Open(id, "RETRIEVAL")
	r.Change(d.ID, "DISPUTE OPEN")
	if shown := r.Shows(d.ID); shown.ID != "" {
		t.Fatalf("it was not lost: %+v", shown)
	}
	key := r.M.Key
	r.Stop()
	o := apptest.TestOptions(dir)
	o.DisputeLookup = time.Hour
	r.M.Key = key
	r.Start(o)
	r.Tells(d.ID, "OPENED", "RETRIEVAL OPEN", "DISPUTE OPEN")
	history := r.M.Must(t, "GET", "/payments/"+id+"/events", r.M.Headers(), nil)
	if !strings.Contains(string(history.Body), `"found":true`) {
		t.Errorf("%s", history.Body)
	}
}
