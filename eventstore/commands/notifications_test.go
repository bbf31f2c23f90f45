package commands_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/payments"
	"payledger/eventstore/commands/service"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

func (r *rig) dispute(id string) dispute.State {
	r.T.Helper()
	key := eventstore.Disputes.Key(r.By.Account, string(domain.DisputeIDFor(r.By.Account, "ADYEN", id)))
	tip, err := eventstore.Load(context.Background(), r.Store, eventstore.Disputes, key, eventstore.Latest)
	if err != nil {
		r.T.Fatal(err)
	}
	return tip.State
}

// events counts all events of the log.
func (r *rig) events() uint64 {
	r.T.Helper()
	for shard := range r.Store.Shards() {
		_, err := r.Store.LastSeq(context.Background(), shard)
		if err != nil {
			r.T.Fatal(err)
		}
	}
	return r.Store.Events()
}

// TestNoticeBeforePayment checks that a notification that arrives before its payment is stored, and
// applied as soon as the payment has a transaction there, without another request. The newest
// notification counts, whatever the order (D14, D16).
func TestNoticeBeforePayment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known := &atomic.Bool{}
	known.Store(true)
	s := r.InboxService(known)
	const key = "early-1"
	id := domain.PaymentIDForKey(r.By.Account, key)
	for _, n := range []processor.SignedNotification{
		commandstest.DisputeNotification("nt_3", id, processor.DisputeLost, commandstest.DisputedAt.Add(2*time.Hour)), commandstest.DisputeNotification("nt_1", id, processor.DisputeOpen, commandstest.DisputedAt),
		commandstest.DisputeNotification("nt_2", id, processor.DisputeChallenged, commandstest.DisputedAt.Add(time.Hour)), commandstest.DisputeNotification("nt_1", id, processor.DisputeOpen, commandstest.DisputedAt),
	} {
		if err := s.Notify(context.Background(), "request", n); err != nil {
			t.Fatal(err)
		}
	}
	if waiting := r.Inbox(id); len(waiting.Waiting()) != 3 || waiting.Revision != 3 || r.dispute("dp_1").Revision != 0 {
		t.Fatalf("%+v", waiting)
	}
	if _, err := s.CreatePayment(context.Background(), r.By, payments.PaymentInput{Token: r.Token(s), IdempotencyKey: key}); err != nil {
		t.Fatal(err)
	}
	r.Eventually("what came early is not applied", func() bool { return len(r.Inbox(id).Waiting()) == 0 })
	paid, d := r.Payment(id), r.dispute("dp_1")
	if d.Current.Status != processor.DisputeLost || d.Revision != 3 || d.Facts[0].Disposition != dispute.DispositionOpened ||
		d.Subject.Payment != id || d.Current.TransactionID != paid.Authorization().TransactionID || d.Current.Reason != "PRODUCT_NOT_RECEIVED" {
		t.Errorf("%+v", d)
	}
	for _, f := range d.Facts { // creation and answer may each have them applied at once, in any order
		if f.Disposition == dispute.DispositionRejected {
			t.Errorf("%+v", f)
		}
	}
	if paid.Revision != 2 || paid.Status() != payment.StatusAuthorized {
		t.Errorf("the dispute touched the payment: %+v", paid)
	}
	for _, n := range r.Inbox(id).Notifications {
		if n.Outcome != inbox.Applied {
			t.Errorf("%+v", n)
		}
	}
}

// TestNoticeAtOnce: the same notification from many sides at once is one event each, of inbox and
// dispute.
func TestNoticeAtOnce(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	known := &atomic.Bool{}
	known.Store(true)
	nodes := []*service.Service{r.InboxService(known), r.InboxService(known)}
	paid := r.Pay(nodes[0], commandstest.ApprovedCard)
	before := r.events()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := nodes[i%2].Notify(context.Background(), "request", commandstest.DisputeNotification("nt_1", paid.ID, processor.DisputeOpen, commandstest.DisputedAt)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if r.events() != before+3 || r.dispute("dp_1").Revision != 1 || r.Inbox(paid.ID).Revision != 2 {
		t.Errorf("%d events, %+v", r.events()-before, r.Inbox(paid.ID))
	}
}

// TestNoticeAfterCrash: a crash after any of the three events of a notification ends well: the next
// process that applies it finds the work done and does the rest (D14).
func TestNoticeAfterCrash(t *testing.T) {
	t.Parallel()
	for _, died := range []string{"received", "recorded", "applied"} {
		t.Run(died, func(t *testing.T) {
			r := newRig(t)
			known := &atomic.Bool{} // nothing is applied at first
			s := r.InboxService(known)
			paid := r.Pay(s, commandstest.ApprovedCard)
			payload := commandstest.DisputeNotification("nt_1", paid.ID, processor.DisputeOpen, commandstest.DisputedAt)
			if err := s.Notify(context.Background(), "request", payload); err != nil {
				t.Fatal(err)
			}
			kept := r.Inbox(paid.ID).Notifications[0]
			if died != "received" {
				r.record(paid, kept, payload)
			}
			known.Store(true)
			again := r.InboxService(known)
			for range 3 {
				if err := again.ApplyPendingNotifications(context.Background(), paid.ID); err != nil {
					t.Fatal(err)
				}
				if died == "applied" { // once more, on a log that has it all
					again = r.InboxService(known)
				}
			}
			in, d := r.Inbox(paid.ID), r.dispute("dp_1")
			if d.Revision != 1 || d.Current.Status != processor.DisputeOpen || !d.Current.ReceivedAt.Equal(kept.ReceivedAt) || in.Revision != 2 || len(in.Waiting()) != 0 {
				t.Errorf("%+v\n%+v", d, in)
			}
		})
	}
}

// record writes the dispute's event as a process does that dies right after it.
func (r *rig) record(paid payment.State, n inbox.Notification, payload processor.SignedNotification) {
	r.T.Helper()
	meta, err := r.Store.NewMeta("processor:ADYEN", "request")
	if err != nil {
		r.T.Fatal(err)
	}
	id := domain.DisputeIDFor(r.By.Account, "ADYEN", payload.Dispute.ID)
	_, err = eventstore.NewRepositories(r.Store).Disputes.Execute(context.Background(), r.By.Account, id, meta,
		func(s dispute.State) (dispute.Event, error) {
			return dispute.DecideRecord(s, dispute.Record{
				At: meta.At, ID: id, Account: r.By.Account, Subject: dispute.Subject{Payment: paid.ID}, Fact: dispute.Fact{
					EventID: n.ID, At: payload.Dispute.At, ReceivedAt: n.ReceivedAt, Type: payload.Dispute.Type, Status: payload.Dispute.Status,
				},
			})
		})
	if err != nil {
		r.T.Fatal(err)
	}
}

// TestNoticesThatCannotBeTrue checks that no notification corrupts a payment: an impossible one is
// stored and rejected with its reason, and the payment is unchanged (D14).
func TestNoticesThatCannotBeTrue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known := &atomic.Bool{}
	known.Store(true)
	s := r.InboxService(known)
	paid := r.Pay(s, commandstest.ApprovedCard)
	answer := func(id, key string, kind processor.Kind, name processor.Name, state processor.State) processor.SignedNotification {
		return processor.SignedNotification{Body: "{}", Notification: processor.Notification{
			ID: id, Processor: name, Kind: kind, Key: domain.OperationKey(key), Reference: paid.ID, Answer: &processor.Answer{State: state, ProcessorTransactionID: "x", At: commandstest.DisputedAt},
		}}
	}
	of := func(revision string) string { return string(paid.ID) + "." + revision }
	elsewhere := commandstest.DisputeNotification("nt_5", paid.ID, processor.DisputeOpen, commandstest.DisputedAt)
	elsewhere.Processor = processor.Stripe
	impossible := commandstest.DisputeNotification("nt_6", paid.ID, processor.DisputeWon, commandstest.DisputedAt)
	impossible.Dispute.Type = processor.Retrieval
	want := map[string]inbox.Outcome{}
	for i, c := range []struct {
		notification processor.SignedNotification
		outcome      inbox.Outcome
	}{
		{answer("nt_1", of("9"), processor.Capture, processor.Adyen, processor.Succeeded), inbox.Rejected},
		{answer("nt_2", of("1"), processor.Capture, processor.Adyen, processor.Succeeded), inbox.Rejected},
		{answer("nt_3", of("1"), processor.Authorize, processor.Stripe, processor.Failed), inbox.Rejected},
		{answer("nt_4", of("1"), processor.Authorize, processor.Adyen, processor.Failed), inbox.Rejected}, // it has another answer
		{elsewhere, inbox.Rejected},
		{impossible, inbox.Rejected},
	} {
		if err := s.Notify(context.Background(), "request", c.notification); err != nil {
			t.Fatal(i, err)
		}
		want[c.notification.ID] = c.outcome
	}
	for _, n := range r.Inbox(paid.ID).Notifications {
		if n.Outcome != want[n.ID] {
			t.Errorf("%s is %s", n.ID, n.Outcome)
		}
	}
	if now := r.Payment(paid.ID); now.Revision != paid.Revision || r.dispute("dp_1").Exists() || r.dispute("dp_1").Facts[0].Disposition != dispute.DispositionRejected {
		t.Errorf("%+v", now)
	}
	if err := s.Notify(context.Background(), "request", answer("nt_7", "other.1", processor.Capture, processor.Adyen, processor.Succeeded)); domain.ReasonOf(err) != domain.ReasonRequestValidation {
		t.Error(err)
	}
	r.Audit(paid.ID)
}

// TestNoPaymentAppears checks that a notification whose payment never appears is rejected after a
// week.
func TestNoPaymentAppears(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.InboxService(&atomic.Bool{})
	id := domain.PaymentIDForKey(r.By.Account, "never")
	if err := s.Notify(context.Background(), "request", commandstest.DisputeNotification("nt_1", id, processor.DisputeOpen, commandstest.DisputedAt)); err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyPendingNotifications(context.Background(), id); err == nil || len(r.Inbox(id).Waiting()) != 1 {
		t.Error(err)
	}
	r.Ahead.Store(int64(8 * 24 * time.Hour))
	if err := s.ApplyPendingNotifications(context.Background(), id); err != nil || r.Inbox(id).Notifications[0].Outcome != inbox.Rejected {
		t.Errorf("%v %+v", err, r.Inbox(id))
	}
}

// TestSweep: a sweep finds a lost notification, once, on any process; a notification that arrived
// is not applied twice; the cursor survives a restart (D14).
func TestSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known := &atomic.Bool{}
	known.Store(true)
	s := r.InboxService(known)
	paid := r.Pay(s, commandstest.ApprovedCard)
	opened, err := r.Sim.OpenDispute(context.Background(), protocol.DisputeOrder{Reference: paid.ID, Type: processor.Chargeback, ReasonCode: "10.4"})
	if err != nil { // no notification is sent: there is no URL
		t.Fatal(err)
	}
	sweep := func(s *service.Service) {
		t.Helper()
		if err := sweepAll(s); err != nil {
			t.Fatal(err)
		}
	}
	sweep(s)
	d := r.dispute(opened.ID)
	if d.Current.Status != processor.DisputeOpen || d.Current.TransactionID != opened.ProcessorTransactionID || r.Inbox("ADYEN").Through.IsZero() {
		t.Fatalf("%+v", d)
	}
	found := r.events()
	sweep(s)
	sweep(r.InboxService(known))
	if r.events() != found {
		t.Errorf("sweeps of what is known added %d events", r.events()-found)
	}
	for _, status := range []processor.DisputeStatus{processor.DisputeChallenged, processor.DisputeWon} {
		if _, err := r.Sim.ChangeDispute(context.Background(), opened.ID, protocol.DisputeChange{Status: status}); err != nil {
			t.Fatal(err)
		}
	}
	after := r.InboxService(known) // a process that was started anew
	sweep(after)
	if d := r.dispute(opened.ID); d.Current.Status != processor.DisputeWon || d.Revision != 3 {
		t.Errorf("%+v", d)
	}
	body, err := r.Store.History(context.Background(), eventstore.InboxKey(string(paid.ID)))
	if err != nil {
		t.Fatal(err)
	}
	first, err := eventstore.Inboxes.Event(body[0])
	if kept, is := first.(inbox.Received); err != nil || !is || !kept.Listed || !json.Valid([]byte(kept.Body)) {
		t.Errorf("%+v %v", first, err)
	}
}

// deafDisputes are processors that answer no look-up of disputes, but for one.
type deafDisputes struct {
	*adapter.Adapter
	answers processor.Name
}

func (d deafDisputes) NotificationsSince(ctx context.Context, name processor.Name, since time.Time, after string) (processor.DisputePage, error) {
	if name != d.answers {
		return processor.DisputePage{}, processor.ErrUnknown
	}
	return d.Adapter.NotificationsSince(ctx, name, since, after)
}

// TestSweepOfDeafProcessors checks that a processor without an answer does not stop the sweep of
// the others.
func TestSweepOfDeafProcessors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known := &atomic.Bool{}
	known.Store(true)
	s := r.InboxService(known)
	s.Disputes = deafDisputes{r.Sim, processor.Adyen}
	paid := r.Pay(s, commandstest.ApprovedCard)
	opened, err := r.Sim.OpenDispute(context.Background(), protocol.DisputeOrder{Reference: paid.ID, Type: processor.Retrieval, ReasonCode: "4837"})
	if err != nil {
		t.Fatal(err)
	}
	if err := sweepAll(s); err == nil || r.dispute(opened.ID).Current.Type != processor.Retrieval {
		t.Errorf("%v %+v", err, r.dispute(opened.ID))
	}
}

// TestSweepOfManyPages: a sweep reads all pages (D14).
func TestSweepOfManyPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	known := &atomic.Bool{}
	known.Store(true)
	s := r.InboxService(known)
	paid := r.Pay(s, commandstest.ApprovedCard)
	opened, err := r.Sim.OpenDispute(context.Background(), protocol.DisputeOrder{Reference: paid.ID, Type: processor.Retrieval, ReasonCode: "4837"})
	if err != nil {
		t.Fatal(err)
	}
	const more = 2 * protocol.MaxDisputePage
	for range more {
		if opened, err = r.Sim.ChangeDispute(context.Background(), opened.ID, protocol.DisputeChange{Status: processor.DisputeOpen}); err != nil {
			t.Fatal(err)
		}
	}
	if err := sweepAll(s); err != nil {
		t.Fatal(err)
	}
	if d := r.dispute(opened.ID); len(d.Facts) != more+1 || !d.Current.At.Equal(opened.UpdatedAt) {
		t.Errorf("%d facts of %d", len(d.Facts), more+1)
	}
}
