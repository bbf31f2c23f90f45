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
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
)

var testAccounts = []domain.AccountID{"acct1", "acct2", "acct3"}

// randomStory draws a log: payments, sessions and accounts in any order, each payment answered in any way.
func randomStory(r *rapid.T) *logbook {
	l := newLogbook(3)
	var payments []payment.State
	var accounts []account.State
	for range rapid.IntRange(1, 60).Draw(r, "events") {
		kind := rapid.IntRange(0, 5).Draw(r, "kind")
		switch {
		case kind == 0:
			l.session(len(l.all))
		case kind == 1 && len(accounts) < 3:
			accounts = append(accounts, l.account(testAccounts[len(accounts)]))
		case kind == 1:
			i := rapid.IntRange(0, len(accounts)-1).Draw(r, "account")
			accounts[i] = l.addKey(accounts[i], domain.APIKeyID(fmt.Sprintf("key-%d", len(l.all))))
		case kind == 2 || len(payments) == 0:
			payments = append(payments, l.create(len(payments)))
		default:
			i := rapid.IntRange(0, len(payments)-1).Draw(r, "payment")
			payments[i] = randomStep(l, r, payments[i])
		}
	}
	return l
}

// randomStep records one of the answers that the payment can still get.
func randomStep(l *logbook, r *rapid.T, s payment.State) payment.State {
	op := s.Authorization()
	if !op.State.Open() {
		return s
	}
	switch rapid.IntRange(0, 4).Draw(r, "answer") {
	case 0:
		if op.State == payment.StateRequested {
			return l.timeOut(s)
		}
	case 1:
		if op.State != payment.StatePending {
			return l.answer(s, processor.Answer{State: processor.Pending})
		}
	case 2:
		return l.answer(s, approved())
	case 3:
		return l.answer(s, processor.Answer{State: processor.Declined, Code: "54"})
	case 4:
		return l.answer(s, processor.Answer{State: processor.Failed, Code: processor.CodeRejected})
	}
	return s
}

// TestRebuildEqualsLive: a read model that was kept up to date in any batches, the shards interleaved in
// any way, reopened at any moment and handed old events again, has the rows of one made from zero.
func TestRebuildEqualsLive(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := randomStory(r)
		dir := t.TempDir()
		path := filepath.Join(dir, rapid.StringMatching(`[a-z]{12}`).Draw(r, "live")+".sqlite")
		if err := removeDatabase(path); err != nil {
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
