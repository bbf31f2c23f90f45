package commands_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/commandstest"
	"payledger/eventstore/commands/service"
)

// TestContradictingNotice checks that a notification that contradicts the recorded result is
// stored, rejected with its reason, and logged as a warning. A repeat of the result, and older
// news, count as applied, because there is nothing to do (D7, D14).
func TestContradictingNotice(t *testing.T) {
	t.Parallel()
	r, log := newRig(t), &commandstest.Logbook{}
	s := r.Logging(log)
	declined, approved := r.Pay(s, "4000000000000002"), r.Pay(s, commandstest.ApprovedCard)
	held := approved.Operations[0].TransactionID
	for _, c := range []struct {
		notification processor.SignedNotification
		why          string
	}{
		{commandstest.ResultOf("nt_1", declined.ID, "1", processor.Authorize, processor.Succeeded, "x"), "The authorize is already DECLINED and cannot be SUCCEEDED."},
		{commandstest.ResultOf("nt_2", declined.ID, "1", processor.Authorize, processor.Failed, ""), "The authorize is already DECLINED and cannot be FAILED."},
		{commandstest.ResultOf("nt_3", declined.ID, "1", processor.Authorize, processor.Declined, ""), ""},
		{commandstest.ResultOf("nt_4", declined.ID, "1", processor.Authorize, processor.Pending, "x"), ""},
		{commandstest.ResultOf("nt_5", approved.ID, "1", processor.Authorize, processor.Declined, ""), "The authorize is already SUCCEEDED and cannot be DECLINED."},
		{commandstest.ResultOf("nt_6", approved.ID, "1", processor.Authorize, processor.Succeeded, "another"), "The processor's transaction id of the authorize differs from the recorded one."},
		{commandstest.ResultOf("nt_7", approved.ID, "1", processor.Authorize, processor.Succeeded, held), ""},
	} {
		if err := s.Notify(background, "request", c.notification); err != nil {
			t.Fatal(err)
		}
		got, rejected := r.Refusals(c.notification.Reference)[c.notification.ID]
		if got != c.why || rejected != (c.why != "") || len(r.Inbox(c.notification.Reference).Waiting()) != 0 {
			t.Errorf("%s: %q", c.notification.ID, got)
		}
		if c.why != "" && !log.Has(`"level":"warn"`, `"notification":"`+c.notification.ID+`"`, c.why) {
			t.Errorf("%s is not warned of", c.notification.ID)
		}
	}
	for _, before := range []payment.State{declined, approved} {
		if now := r.Payment(before.ID); now.Revision != before.Revision {
			t.Errorf("%s is at revision %d", now.Status(), now.Revision)
		}
		r.Audit(before.ID)
	}
}

// TestNoticeOfAnotherTransaction checks that a pending operation takes only the result of the
// transaction that the processor named when it accepted the operation. The true result is applied
// when it comes.
func TestNoticeOfAnotherTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Logging(&commandstest.Logbook{})
	p := r.Pay(s, "4000000000003220")
	if err := s.Notify(background, "request", commandstest.ResultOf("nt_1", p.ID, "1", processor.Authorize, processor.Succeeded, "another")); err != nil {
		t.Fatal(err)
	}
	if why := r.Refusals(p.ID)["nt_1"]; why != "The processor's transaction id of the authorize differs from the recorded one." {
		t.Errorf("%q", why)
	}
	r.Settle()
	now := r.Settled(p.ID)
	if op := now.Operations[0]; op.TransactionID != p.Operations[0].TransactionID || now.Status() != payment.StatusAuthorized {
		t.Errorf("%s with %s", now.Status(), op.TransactionID)
	}
	if now, err := s.Capture(background, r.By, p.ID, payment.Capture{Final: true}); err != nil || now.Status() != payment.StatusSettled {
		t.Errorf("%s %v", now.Status(), err)
	}
}

// givesUp records the events of a process that fenced the key of a payment's authorization (D8).
func (r *rig) givesUp(id domain.PaymentID) {
	r.T.Helper()
	meta, err := r.Store.NewMeta("process:test", "request")
	if err != nil {
		r.T.Fatal(err)
	}
	_, err = eventstore.NewRepositories(r.Store).Payments.Execute(background, r.By.Account, id, meta, func(p payment.State) (payment.Event, error) {
		return payment.DecideAnswer(p, payment.RecordAnswer{
			At: meta.At, EventID: meta.EventID, Request: 1, Answer: processor.Answer{State: processor.Failed, At: meta.At, Code: processor.CodeFenced},
		})
	})
	if err != nil {
		r.T.Fatal(err)
	}
}

// TestLateNotice checks that a given-up authorization that took effect is a fact (D7). It is
// recorded once, however many nodes receive the notification, also after a crash.
func TestLateNotice(t *testing.T) {
	t.Parallel()
	r := newCluster(t)
	nodes := []*service.Service{r.Logging(&commandstest.Logbook{}), r.Logging(&commandstest.Logbook{})}
	p := r.Pay(nodes[0], "4000000000003220")
	nodes[0].Close() // without it no process asks for the result
	r.givesUp(p.ID)
	if now := r.Payment(p.ID); now.Status() != payment.StatusFailed {
		t.Fatal(now.Status())
	}
	unknowing := r.InboxService(&atomic.Bool{}) // keeps it, and dies
	payload := commandstest.ResultOf("nt_1", p.ID, "1", processor.Authorize, processor.Succeeded, p.Operations[0].TransactionID)
	if err := unknowing.Notify(background, "request", payload); err != nil {
		t.Fatal(err)
	}
	nodes[0] = r.Logging(&commandstest.Logbook{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := nodes[i%2].ApplyPendingNotifications(background, p.ID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	now := r.Payment(p.ID)
	if now.Status() != payment.StatusAuthorized || now.Revision != p.Revision+2 || r.Inbox(p.ID).Notifications[0].Outcome != inbox.Applied {
		t.Errorf("%s at revision %d, was %d; %+v", now.Status(), now.Revision, p.Revision, r.Inbox(p.ID))
	}
}
