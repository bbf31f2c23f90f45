package projections

import (
	"fmt"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands/pending"
	"payledger/eventstore/engine"
)

// decideAttempt records the event that decide returns for a payment attempt.
func decideAttempt(t *testing.T, store *engine.Store, id domain.AttemptID, decide func(attempt.State, time.Time) (attempt.Event, error)) {
	t.Helper()
	command(t, store, eventstore.Attempts, eventstore.Attempts.Key(testAccount, string(id)), func(s attempt.State, m eventstore.Meta) (attempt.Event, error) {
		return decide(s, m.At)
	})
}

// TestWaitingAttempts: attempts wait until they are decided or expire, those that expire first at
// the front, in pages, before and after a restart and a rebuild (§3.3).
func TestWaitingAttempts(t *testing.T) {
	store, dir := openStore(t), t.TempDir()
	n := startNode(t, store, dir)
	now := store.Now()
	tool(t, store, testAccount, "token", instrument.SingleUse, "")
	command(t, store, eventstore.Sessions, eventstore.Sessions.Key(testAccount, "session"), func(s session.State, m eventstore.Meta) (session.Event, error) {
		return session.DecideCreate(s, session.Create{At: m.At, ID: "session", Account: testAccount, ExpiresAt: now.Add(24 * time.Hour), Fields: session.Fields{OrderID: "o"}})
	})
	for i, life := range []time.Duration{5, 3, 3, 9, 4, 7} {
		id := domain.AttemptID(fmt.Sprintf("01%d", i))
		decideAttempt(t, store, id, func(s attempt.State, at time.Time) (attempt.Event, error) {
			return attempt.DecideCreate(s, attempt.Create{Created: attempt.Created{
				At: at, ID: id, Account: testAccount, ExpiresAt: now.Add(life * time.Hour), Session: "session", Token: "token",
			}})
		})
	}
	decideAttempt(t, store, "014", func(s attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideAbort(s, attempt.Abort{At: at})
	})
	decideAttempt(t, store, "015", func(s attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideApprove(s, attempt.Approve{At: at, Payment: "01p"})
	})
	decideAttempt(t, store, "015", attempt.DecideComplete)
	wants := func(at time.Time, limit int, pages string) {
		t.Helper()
		got := ""
		for page, err := n.WaitingAttempts(testContext(t), testAccount, at, nil, limit); ; page, err = n.WaitingAttempts(testContext(t), testAccount, at, page.Next, limit) {
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range page.Data {
				got += string(a.Attempt.ID) + " "
			}
			if got += "/"; page.Next == nil {
				break
			}
		}
		if got != pages {
			t.Errorf("%s, not %s", got, pages)
		}
	}
	for range 2 {
		wants(now, 10, "011 012 010 013 /")
		wants(now, 1, "011 /012 /010 /013 /")
		wants(now.Add(3*time.Hour), 10, "010 013 /")
		wants(now.Add(10*time.Hour), 10, "/")
		n.stop()
		n = startNode(t, store, dir)
	}
	if other, err := n.WaitingAttempts(testContext(t), "acct2", now, nil, 10); err != nil || len(other.Data) > 0 {
		t.Errorf("another account has %+v, %v", other, err)
	}
	if one, err := n.AttemptWithTerms(testContext(t), testAccount, "014"); err != nil || one.Attempt.Decision != attempt.Aborted || one.Session.OrderID != "o" || one.Instrument.Token != "token" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := n.AttemptWithTerms(testContext(t), "acct2", "014"); domain.ReasonOf(err) != domain.ReasonEntityNotFound {
		t.Error(err)
	}
}

// TestDueAttempts: decided attempts are due until they are completed (§3.3).
func TestDueAttempts(t *testing.T) {
	store, dir := openStore(t), t.TempDir()
	n := startNode(t, store, dir)
	decide := func(id domain.AttemptID, decide func(attempt.State, time.Time) (attempt.Event, error)) {
		t.Helper()
		command(t, store, eventstore.Attempts, eventstore.Attempts.Key(testAccount, string(id)), func(s attempt.State, m eventstore.Meta) (attempt.Event, error) {
			return decide(s, m.At)
		})
	}
	for i := range 4 {
		id := domain.AttemptID(fmt.Sprintf("01%d", i))
		decide(id, func(s attempt.State, at time.Time) (attempt.Event, error) {
			return attempt.DecideCreate(s, attempt.Create{Created: attempt.Created{At: at, ID: id, Account: testAccount, ExpiresAt: at.Add(time.Hour)}})
		})
	}
	approve := func(s attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideApprove(s, attempt.Approve{At: at, Payment: "01p"})
	}
	decide("011", approve)
	decide("012", func(s attempt.State, at time.Time) (attempt.Event, error) {
		return attempt.DecideAbort(s, attempt.Abort{At: at})
	})
	decide("013", approve)
	decide("013", attempt.DecideComplete)
	for range 2 {
		if err := n.CaughtUp(testContext(t)); err != nil {
			t.Fatal(err)
		}
		due, err := n.DueAttempts(testContext(t), time.Now(), pending.Place{}, 10)
		if err != nil || len(due) != 2 || due[0].ID != "011" || due[1].ID != "012" || due[0].Account != testAccount || due[0].At >= due[1].At {
			t.Errorf("%+v, %v", due, err)
		}
		for _, c := range []struct {
			at    int64
			after pending.Place
			limit int
			want  domain.AttemptID
		}{{due[1].At, due[0].Place, 10, "012"}, {due[0].At, pending.Place{}, 10, "011"}, {due[1].At, pending.Place{}, 1, "011"}} {
			if one, err := n.DueAttempts(testContext(t), time.UnixMicro(c.at), c.after, c.limit); err != nil || len(one) != 1 || one[0].ID != string(c.want) {
				t.Errorf("%+v, not %s: %v", one, c.want, err)
			}
		}
		n.stop()
		n = startNode(t, store, dir)
	}
	decide("011", attempt.DecideComplete)
	decide("012", attempt.DecideComplete)
	if err := n.CaughtUp(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if due, err := n.DueAttempts(testContext(t), time.Now(), pending.Place{}, 10); err != nil || len(due) != 0 {
		t.Errorf("%+v, %v", due, err)
	}
}
