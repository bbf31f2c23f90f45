package service_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/service"
)

// logbook is a log that tests read while it is written.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) has(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}

// logging is a service that knows every payment and writes its log to l.
func (r *rig) logging(l *logbook) *service.Service {
	known := &atomic.Bool{}
	known.Store(true)
	return r.inboxService(known, func(c *commands.Config) { c.Logger = zerolog.New(l) })
}

// resultOf is the notification of the result of a payment's operation.
func resultOf(id string, p domain.PaymentID, revision string, kind processor.Kind, state processor.State, transaction string) processor.SignedNotification {
	answer := &processor.Answer{State: state, ProcessorTransactionID: transaction, At: disputedAt}
	if state != processor.Succeeded {
		answer.Code = "05"
	}
	return processor.SignedNotification{Body: "{}", Notification: processor.Notification{
		ID: id, Processor: processor.Adyen, Kind: kind, Key: domain.OperationKey(string(p) + "." + revision), Reference: p, Answer: answer,
	}}
}

// refusals returns the reasons of rejected notifications, by their ids.
func (r *rig) refusals(reference domain.PaymentID) map[string]string {
	r.t.Helper()
	history, err := r.store.History(context.Background(), eventstore.InboxKey(string(reference)))
	if err != nil {
		r.t.Fatal(err)
	}
	why := map[string]string{}
	for _, recorded := range history {
		event, err := eventstore.Inboxes.Event(recorded)
		if err != nil {
			r.t.Fatal(err)
		}
		if e, is := event.(inbox.WasRejected); is {
			why[e.ID] = e.Refusal
		}
	}
	return why
}

// TestContradictingNotice checks that a notification that contradicts the recorded result is stored, rejected with its reason, and logged
// as a warning. A repeat of the result, and older news, count as applied, because there is nothing to do (D7, D14).
func TestContradictingNotice(t *testing.T) {
	t.Parallel()
	r, log := newRig(t), &logbook{}
	s := r.logging(log)
	declined, approved := r.pay(s, "4000000000000002"), r.pay(s, approvedCard)
	held := approved.Operations[0].TransactionID
	for _, c := range []struct {
		notification processor.SignedNotification
		why          string
	}{
		{resultOf("nt_1", declined.ID, "1", processor.Authorize, processor.Succeeded, "x"), "The authorize is already DECLINED and cannot be SUCCEEDED."},
		{resultOf("nt_2", declined.ID, "1", processor.Authorize, processor.Failed, ""), "The authorize is already DECLINED and cannot be FAILED."},
		{resultOf("nt_3", declined.ID, "1", processor.Authorize, processor.Declined, ""), ""},
		{resultOf("nt_4", declined.ID, "1", processor.Authorize, processor.Pending, "x"), ""},
		{resultOf("nt_5", approved.ID, "1", processor.Authorize, processor.Declined, ""), "The authorize is already SUCCEEDED and cannot be DECLINED."},
		{resultOf("nt_6", approved.ID, "1", processor.Authorize, processor.Succeeded, "another"), "The processor's transaction id of the authorize differs from the recorded one."},
		{resultOf("nt_7", approved.ID, "1", processor.Authorize, processor.Succeeded, held), ""},
	} {
		if err := s.Notify(background, "request", c.notification); err != nil {
			t.Fatal(err)
		}
		got, rejected := r.refusals(c.notification.Reference)[c.notification.ID]
		if got != c.why || rejected != (c.why != "") || len(r.inbox(c.notification.Reference).Waiting()) != 0 {
			t.Errorf("%s: %q", c.notification.ID, got)
		}
		if c.why != "" && !log.has(`"level":"warn"`, `"notification":"`+c.notification.ID+`"`, c.why) {
			t.Errorf("%s is not warned of", c.notification.ID)
		}
	}
	for _, before := range []payment.State{declined, approved} {
		if now := r.payment(before.ID); now.Revision != before.Revision {
			t.Errorf("%s is at revision %d", now.Status(), now.Revision)
		}
		r.audit(before.ID)
	}
}

// TestNoticeOfAnotherTransaction checks that a pending operation takes only the result of the transaction that the processor named when it
// accepted the operation. The true result is applied when it comes.
func TestNoticeOfAnotherTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.logging(&logbook{})
	p := r.pay(s, "4000000000003220")
	if err := s.Notify(background, "request", resultOf("nt_1", p.ID, "1", processor.Authorize, processor.Succeeded, "another")); err != nil {
		t.Fatal(err)
	}
	if why := r.refusals(p.ID)["nt_1"]; why != "The processor's transaction id of the authorize differs from the recorded one." {
		t.Errorf("%q", why)
	}
	r.settle()
	now := r.settled(p.ID)
	if op := now.Operations[0]; op.TransactionID != p.Operations[0].TransactionID || now.Status() != payment.StatusAuthorized {
		t.Errorf("%s with %s", now.Status(), op.TransactionID)
	}
	if now, err := s.Capture(background, r.by, p.ID, payment.Capture{Final: true}); err != nil || now.Status() != payment.StatusSettled {
		t.Errorf("%s %v", now.Status(), err)
	}
}

// givesUp records the events of a process that fenced the key of a payment's authorization (D8).
func (r *rig) givesUp(id domain.PaymentID) {
	r.t.Helper()
	meta, err := r.store.NewMeta("process:test", "request")
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = eventstore.NewRepositories(r.store).Payments.Execute(background, r.by.Account, id, meta, func(p payment.State) (payment.Event, error) {
		return payment.DecideAnswer(p, payment.RecordAnswer{
			At: meta.At, EventID: meta.EventID, Request: 1, Answer: processor.Answer{State: processor.Failed, At: meta.At, Code: processor.CodeFenced},
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestLateNotice checks that a given-up authorization that took effect is a fact (D7). It is recorded once, however many nodes receive the
// notification, also after a crash.
func TestLateNotice(t *testing.T) {
	t.Parallel()
	r := newRigFor(t, false)
	nodes := []*service.Service{r.logging(&logbook{}), r.logging(&logbook{})}
	p := r.pay(nodes[0], "4000000000003220")
	nodes[0].Close() // without it no process asks for the result
	r.givesUp(p.ID)
	if now := r.payment(p.ID); now.Status() != payment.StatusFailed {
		t.Fatal(now.Status())
	}
	unknowing := r.inboxService(&atomic.Bool{}) // keeps it, and dies
	payload := resultOf("nt_1", p.ID, "1", processor.Authorize, processor.Succeeded, p.Operations[0].TransactionID)
	if err := unknowing.Notify(background, "request", payload); err != nil {
		t.Fatal(err)
	}
	nodes[0] = r.logging(&logbook{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := nodes[i%2].ApplyPendingNotifications(background, p.ID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	now := r.payment(p.ID)
	if now.Status() != payment.StatusAuthorized || now.Revision != p.Revision+2 || r.inbox(p.ID).Notifications[0].Outcome != inbox.Applied {
		t.Errorf("%s at revision %d, was %d; %+v", now.Status(), now.Revision, p.Revision, r.inbox(p.ID))
	}
}
