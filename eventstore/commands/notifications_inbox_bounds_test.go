package commands_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/eventstoretest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

// moreDisputes is a processor that lists notifications before those of the simulator, on the first
// page.
type moreDisputes struct {
	*adapter.Adapter
	more []processor.SignedNotification
}

func (d *moreDisputes) NotificationsSince(ctx context.Context, name processor.Name, since time.Time, after string) (processor.DisputePage, error) {
	page, err := d.Adapter.NotificationsSince(ctx, name, since, after)
	if name == processor.Adyen && after == "" {
		var payload []processor.SignedNotification
		for _, n := range d.more {
			if n.Dispute == nil || !n.Dispute.At.Before(since) {
				payload = append(payload, n)
			}
		}
		page.Notifications = append(payload, page.Notifications...)
	}
	return page, err
}

// asking returns a service that knows every payment and asks the given processors for disputes.
func (r *rig) asking(l *commandstest.Logbook, d processor.Disputes) *service.Service {
	s := r.Logging(l)
	s.Disputes = d
	return s
}

// opens opens a dispute without a notification.
func (r *rig) opens(id domain.PaymentID) string {
	r.T.Helper()
	opened, err := r.Sim.OpenDispute(background, protocol.DisputeOrder{Reference: id, Type: processor.Chargeback, ReasonCode: "10.4"})
	if err != nil {
		r.T.Fatal(err)
	}
	return opened.ID
}

// sweepAll looks for lost dispute notifications of all processors.
func sweepAll(s *service.Service) error {
	var failed []error
	for _, name := range processor.Names {
		failed = append(failed, s.SweepDisputesAt(background, name))
	}
	return errors.Join(failed...)
}

func (r *rig) sweeps(s *service.Service) {
	r.T.Helper()
	if err := sweepAll(s); err != nil {
		r.T.Fatal(err)
	}
}

// TestFullInbox checks that a payment with a full inbox still receives its disputes once, as
// notifications or from the list. The processor must keep any other notification.
func TestFullInbox(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	s := r.Logging(&commandstest.Logbook{})
	paid := r.Pay(s, commandstest.ApprovedCard)
	at := commandstest.DisputedAt
	tell := func(id string, status processor.DisputeStatus) processor.SignedNotification {
		at = at.Add(time.Second)
		return commandstest.DisputeNotification(id, paid.ID, status, at)
	}
	for i := range 500 {
		if err := s.Notify(background, "request", tell(fmt.Sprint("nt_", i), processor.DisputeOpen)); err != nil {
			t.Fatal(i, err)
		}
	}
	full := r.Inbox(paid.ID).Revision
	payload, lost := tell("nt_told", processor.DisputeChallenged), tell("nt_lost", processor.DisputeWon)
	for range 2 {
		if err := s.Notify(background, "request", payload); err != nil {
			t.Fatal(err)
		}
	}
	if d := r.dispute("dp_1"); d.Current.Status != processor.DisputeChallenged {
		t.Errorf("the dispute is %s", d.Current.Status)
	}
	asks := r.asking(&commandstest.Logbook{}, &moreDisputes{r.Sim, []processor.SignedNotification{lost}})
	r.sweeps(asks)
	once := r.events()
	r.sweeps(asks)
	if d := r.dispute("dp_1"); d.Current.Status != processor.DisputeWon || r.events() != once || r.Inbox(paid.ID).Revision != full {
		t.Errorf("the dispute is %s; %d events more", d.Current.Status, r.events()-once)
	}
	result := commandstest.ResultOf("nt_more", paid.ID, "1", processor.Authorize, processor.Succeeded, paid.Operations[0].TransactionID)
	unreadable := tell("nt_unreadable", processor.DisputeOpen)
	unreadable.Dispute, unreadable.Unreadable = nil, "the status of its dispute is not known"
	for _, n := range []processor.SignedNotification{result, unreadable} {
		if err := s.Notify(background, "request", n); domain.ReasonOf(err) != domain.ReasonServiceUnavailable {
			t.Errorf("%s, which is kept nowhere, is taken: %v", n.ID, err)
		}
	}
}

// TestSweepPastAFullInbox checks that a sweep continues after a notification without room.
func TestSweepPastAFullInbox(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	var more []processor.SignedNotification
	unknown := domain.PaymentIDForKey(r.By.Account, "never")
	for i := range 510 {
		n := commandstest.DisputeNotification(fmt.Sprint("nt_", i), unknown, processor.DisputeOpen, commandstest.DisputedAt.Add(time.Duration(i)*time.Second))
		n.Dispute.Wording, n.Dispute.MerchantID = strings.Repeat("w", 480), strings.Repeat("m", 250)
		more = append(more, n)
	}
	s := r.asking(&commandstest.Logbook{}, &moreDisputes{r.Sim, more})
	paid := r.Pay(s, commandstest.ApprovedCard)
	opened := r.opens(paid.ID)
	r.sweeps(s)
	if in := r.Inbox(unknown); len(in.Waiting()) != 500 {
		t.Errorf("%d wait", len(in.Waiting()))
	}
	if !r.dispute(opened).Exists() {
		t.Error("the sweep of ADYEN goes no further")
	}
}

// TestSizeOfAnInbox: pending notifications are stored once: 500 notifications about an unknown
// payment, of 1 KB each, take less than 30 times their size.
func TestSizeOfAnInbox(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	s := r.InboxService(&atomic.Bool{})
	id := domain.PaymentIDForKey(r.By.Account, "never")
	payload := 0
	for i := range 500 {
		n := commandstest.DisputeNotification(fmt.Sprint("nt_", i), id, processor.DisputeOpen, commandstest.DisputedAt.Add(time.Duration(i)*time.Second))
		n.Dispute.Wording, n.Body = strings.Repeat("w", 480), strings.Repeat("b", 900)
		if err := s.Notify(background, "request", n); err != nil {
			t.Fatal(i, err)
		}
		payload += len(n.Body)
	}
	history, err := r.Store.History(background, eventstore.InboxKey(string(id)))
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, e := range history {
		kept += len(e.Body)
	}
	t.Logf("%d bytes received, %d kept in %d events", payload, kept, len(history))
	if len(history) != 500 || kept > 30*payload {
		t.Errorf("%d bytes kept of %d, in %d events", kept, payload, len(history))
	}
}

// TestUnreadableDisputeIsKept checks that a signed dispute that cannot be read is stored with its
// body and rejected with the reason, as a notification or from the list, for a known or an unknown
// payment. Later notifications are still found.
func TestUnreadableDisputeIsKept(t *testing.T) {
	t.Parallel()
	r, log := newRig(t), &commandstest.Logbook{}
	unreadable := commandstest.DisputeNotification("nt_1", domain.PaymentIDForKey(r.By.Account, "never"), processor.DisputeOpen, commandstest.DisputedAt)
	unreadable.Dispute, unreadable.Unreadable = nil, "the status of its dispute is not known"
	paid := r.Pay(r.Logging(log), commandstest.ApprovedCard)
	found := unreadable
	found.ID, found.Reference = "nt_2", paid.ID
	s := r.asking(log, &moreDisputes{r.Sim, []processor.SignedNotification{found}})
	if err := s.Notify(background, "request", unreadable); err != nil {
		t.Fatal(err)
	}
	opened := r.opens(paid.ID)
	r.sweeps(s)
	r.sweeps(s)
	for _, n := range []processor.SignedNotification{unreadable, found} {
		in := r.Inbox(n.Reference)
		if in.Notifications[0] != (inbox.Notification{Processor: processor.Adyen, ID: n.ID, Outcome: inbox.Rejected}) {
			t.Errorf("%+v", in)
		}
		if why := r.Refusals(n.Reference)[n.ID]; why != "It cannot be read: the status of its dispute is not known." || !log.Has(`"level":"warn"`, n.ID, why) {
			t.Errorf("%q", why)
		}
	}
	history, err := r.Store.History(background, eventstore.InboxKey(string(unreadable.Reference)))
	if err != nil {
		t.Fatal(err)
	}
	first, err := eventstore.Inboxes.Event(history[0])
	if e, is := first.(inbox.Received); err != nil || !is || e.Body != unreadable.Body || e.Unreadable != unreadable.Unreadable {
		t.Errorf("%+v %v", first, err)
	}
	if !r.dispute(opened).Exists() {
		t.Error("what came after it is not found")
	}
}

// believes records a cursor without a check of its time.
func (r *rig) believes(through time.Time) {
	r.T.Helper()
	meta, err := r.Store.NewMeta("process:test", "request")
	if err != nil {
		r.T.Fatal(err)
	}
	_, err = eventstore.NewRepositories(r.Store).Inboxes.Execute(background, eventstore.InboxOwner, "ADYEN", meta, func(inbox.State) (inbox.Event, error) {
		return inbox.Swept{At: meta.At, Processor: processor.Adyen, Through: through}, nil
	})
	if err != nil {
		r.T.Fatal(err)
	}
}

// TestSweepOfTimesToCome checks that a notification with a time far in the future does not end the
// search for lost ones, neither now nor after a restart, nor if an earlier process accepted the
// time. The dispute of the notification is not corrupted.
func TestSweepOfTimesToCome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	future := processor.SignedNotification{}
	for _, believed := range []bool{false, true} {
		s := r.Logging(&commandstest.Logbook{})
		paid := r.Pay(s, commandstest.ApprovedCard)
		future = commandstest.DisputeNotification(fmt.Sprint("nt_future", believed), paid.ID, processor.DisputeOpen, time.Date(2126, 3, 1, 12, 0, 0, 0, time.UTC))
		future.Dispute.ID = fmt.Sprint("dp_", believed)
		s.Disputes = &moreDisputes{r.Sim, []processor.SignedNotification{future}}
		if r.sweeps(s); r.Inbox("ADYEN").Through.After(time.Now().Add(time.Minute)) {
			t.Error(r.Inbox("ADYEN").Through)
		}
		if d := r.dispute(future.Dispute.ID); d.Exists() || len(d.Facts) != 1 || d.Facts[0].Refusal == "" {
			t.Errorf("%+v", d)
		}
		if believed {
			r.believes(future.Dispute.At)
		}
		opened := r.opens(paid.ID)
		again := r.asking(&commandstest.Logbook{}, r.Sim) // a restart
		r.sweeps(again)
		if !r.dispute(opened).Exists() {
			t.Error("a lost dispute is never found any more")
		}
		if through := r.Inbox("ADYEN").Through; through.IsZero() || through.After(time.Now().Add(time.Minute)) {
			t.Error(through)
		}
	}
}
