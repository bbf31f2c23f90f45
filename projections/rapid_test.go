package projections

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/projections/sqlitefile"
)

var testAccounts = []domain.AccountID{"acct1", "acct2", "acct3"}

// randomStory draws a log: payments, sessions, tokens, attempts, accounts, disputes, erasures and
// processors' notifications in any order, with any outcome of each payment.
func randomStory(r *rapid.T) *logbook {
	l := newLogbook(3)
	var payments []payment.State
	var accounts []account.State
	disputes, inboxes, erased := map[int]dispute.State{}, map[int]inbox.State{}, persons{}
	var inShop shop
	for range rapid.IntRange(1, 60).Draw(r, "events") {
		kind := rapid.IntRange(0, 11).Draw(r, "kind")
		switch {
		case kind > 9:
			inShop.step(l, r)
		case kind == 0:
			l.session(len(l.all))
		case kind == 1 && len(accounts) < 3:
			accounts = append(accounts, l.account(testAccounts[len(accounts)]))
		case kind == 1:
			i := rapid.IntRange(0, len(accounts)-1).Draw(r, "account")
			accounts[i] = l.addKey(accounts[i], domain.APIKeyID(fmt.Sprintf("key-%d", len(l.all))))
		case kind == 6:
			i := rapid.IntRange(0, 2).Draw(r, "dispute")
			disputes[i] = l.dispute(r, i, disputes[i])
		case kind == 7:
			i := rapid.IntRange(0, 2).Draw(r, "inbox")
			inboxes[i] = l.inbox(r, i, inboxes[i])
		case kind == 8:
			customer, session := drawPerson(r)
			l.erase(erased, customer, session)
		case kind == 9:
			customer, session := drawPerson(r)
			number := erased[domain.PersonIDFor(keyOf(customer, session))].Number()
			l.createSealed(1000+len(l.all), customer, session, rapid.Uint64Range(0, number).Draw(r, "key"))
		case kind == 2 || len(payments) == 0:
			payments = append(payments, l.create(len(payments)))
		default:
			i := rapid.IntRange(0, len(payments)-1).Draw(r, "payment")
			payments[i] = randomStep(l, r, payments[i])
		}
	}
	return l
}

// randomStep records an event that the payment's state allows, if there is one.
func randomStep(l *logbook, r *rapid.T, s payment.State) payment.State {
	amount := domain.Amount(rapid.IntRange(1, 900).Draw(r, "amount"))
	switch rapid.IntRange(0, 9).Draw(r, "step") {
	case 0:
		return l.capture(s, amount)
	case 1:
		return l.refund(s, amount)
	case 2:
		return l.cancel(s)
	case 3:
		return l.resume(s)
	case 4:
		l.claim(s.ID, fmt.Sprintf("key-%d", len(l.all)))
		return s
	case 5:
		if op := s.Authorization(); op.State == payment.StateRequested && op.Revision == 1 {
			return l.timeOut(s)
		}
	}
	for _, op := range s.Operations {
		if op.State.Open() || op.State == payment.StateAction {
			return l.answerTo(s, op.Revision, randomAnswer(r))
		}
	}
	return s
}

func randomAnswer(r *rapid.T) processor.Answer {
	return rapid.SampledFrom([]processor.Answer{
		approved(), approved(), {State: processor.Pending}, {State: processor.ActionRequired},
		{State: processor.Declined, Code: "54"}, {State: processor.Failed, Code: processor.CodeRejected},
	}).Draw(r, "answer")
}

// TestRebuildEqualsLive: a read model that was kept up to date in any batches, the shards
// interleaved in any way, reopened at any moment and handed old events again, has the rows of one
// made from zero.
func TestRebuildEqualsLive(t *testing.T) {
	t.Parallel()
	seedtest.Check(t, func(r *rapid.T) {
		l := randomStory(r)
		dir := t.TempDir()
		path := filepath.Join(dir, rapid.StringMatching(`[a-z]{12}`).Draw(r, "live")+".sqlite")
		if err := sqlitefile.Remove(path); err != nil {
			r.Fatal(err)
		}
		live := openTestModel(t, path, l.shards)
		next := make([]int, l.shards)
		for {
			events := draw(r, l, next)
			if len(events) == 0 {
				break
			}
			mustApply(t, live, events)
			if rapid.IntRange(0, 3).Draw(r, "reopen") == 0 {
				mustClose(t, live)
				live = openTestModel(t, path, l.shards)
			}
			if rapid.IntRange(0, 3).Draw(r, "again") == 0 {
				mustApply(t, live, events)
			}
		}
		rebuilt := openTestModel(t, path+".new", l.shards)
		for _, events := range l.events {
			mustApply(t, rebuilt, events)
		}
		got, want := dump(t, live), dump(t, rebuilt)
		mustClose(t, live)
		mustClose(t, rebuilt)
		if !slices.Equal(got, want) {
			r.Fatalf("live\n%s\nrebuilt\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// draw takes a batch: some of the next events of each shard.
func draw(r *rapid.T, l *logbook, next []int) []*eventstore.Recorded {
	var events []*eventstore.Recorded
	left := 0
	for shard := range next {
		left += len(l.events[shard]) - next[shard]
	}
	for left > 0 && len(events) == 0 {
		for shard := range next {
			n := rapid.IntRange(0, min(9, len(l.events[shard])-next[shard])).Draw(r, "take")
			events = append(events, l.events[shard][next[shard]:next[shard]+n]...)
			next[shard] += n
		}
	}
	return events
}
