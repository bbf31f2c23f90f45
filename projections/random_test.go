package projections

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/domain/seedtest"
	"payledger/domain/session"
	"payledger/eventstore"
)

// shop has the client sessions, tokens and payment attempts of a logbook.
type shop struct {
	sessions []session.State
	tokens   []instrument.State
	attempts []attempt.State
}

// step records a possible event of an existing session, token or attempt, or creates a new one.
func (s *shop) step(l *logbook, r *rapid.T) {
	n, at, customer := len(l.all), l.tick(), rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(r, "customer")
	switch kind := rapid.IntRange(0, 8).Draw(r, "kind in the shop"); {
	case kind == 0 || len(s.sessions) == 0:
		id := domain.SessionID(fmt.Sprintf("44444444-0000-4000-8000-%012d", n))
		e, err := session.DecideCreate(session.State{}, session.Create{
			At: at, ID: id, Account: testAccount, ExpiresAt: at.Add(24 * time.Hour), Fields: session.Fields{OrderID: "o", CustomerID: customer},
		})
		s.sessions = append(s.sessions, record(l, eventstore.Sessions, session.State{}, eventstore.Sessions.Key(testAccount, string(id)), e, err))
	case kind < 4:
		one := &s.sessions[rapid.IntRange(0, len(s.sessions)-1).Draw(r, "session")]
		var e session.Event
		var err error
		if kind == 1 { // the event names no new customer
			e, _, err = session.DecideStartPayment(*one, session.StartPayment{At: at, Payment: paymentID(n), Before: one.Payment})
		} else {
			e, err = session.DecideChange(*one, session.Change{
				At: at, Fields: session.Fields{OrderID: fmt.Sprint("o", n), CustomerID: customer, ApprovalMode: one.ApprovalMode},
			})
		}
		*one = record(l, eventstore.Sessions, *one, eventstore.Sessions.Key(testAccount, string(one.ID)), e, err)
	case kind < 6:
		s.stepToken(l, r, customer)
	default:
		s.stepAttempt(l, r)
	}
}

func (s *shop) stepToken(l *logbook, r *rapid.T, customer string) {
	n, at, i := len(l.all), l.tick(), rapid.IntRange(0, len(s.tokens)).Draw(r, "token")
	if i == len(s.tokens) {
		token := domain.Token(fmt.Sprintf("01tool%06d", n))
		e, err := instrument.DecideTokenize(instrument.State{}, instrument.Tokenize{Tokenized: instrument.Tokenized{
			At: at, Token: token, Account: testAccount, ExpiresAt: at.Add(time.Hour), Session: s.sessions[0].ID, CustomerID: customer,
			TokenType: rapid.SampledFrom([]string{instrument.SingleUse, instrument.MultiUse}).Draw(r, "type"), Card: card,
		}})
		s.tokens = append(s.tokens, record(l, eventstore.Instruments, instrument.State{}, eventstore.Instruments.Key(testAccount, string(token)), e, err))
		return
	}
	one := &s.tokens[i]
	var e instrument.Event
	var err error
	switch rapid.IntRange(0, 3).Draw(r, "change of the token") {
	case 0:
		e, err = instrument.DecideVault(*one, instrument.Vault{At: at, CustomerID: customer})
	case 1:
		e, err = instrument.DecideMakeDefault(*one, at)
	case 2:
		e, err = instrument.DecideDelete(*one, at)
	default:
		e, err = instrument.DecideUse(*one, instrument.Use{At: at, Payment: paymentID(n)})
	}
	if err == nil && e != nil {
		*one = record(l, eventstore.Instruments, *one, eventstore.Instruments.Key(testAccount, string(one.Token)), e, nil)
	}
}

func (s *shop) stepAttempt(l *logbook, r *rapid.T) {
	n, at, i := len(l.all), l.tick(), rapid.IntRange(0, len(s.attempts)).Draw(r, "attempt")
	if i == len(s.attempts) {
		id := domain.AttemptID(fmt.Sprintf("01attempt%06d", n))
		e, err := attempt.DecideCreate(attempt.State{}, attempt.Create{Created: attempt.Created{
			At: at, ID: id, Account: testAccount, ExpiresAt: at.Add(time.Hour), Session: s.sessions[0].ID, Token: "01a",
		}})
		s.attempts = append(s.attempts, record(l, eventstore.Attempts, attempt.State{}, eventstore.Attempts.Key(testAccount, string(id)), e, err))
		return
	}
	one := &s.attempts[i]
	var e attempt.Event
	var err error
	switch rapid.IntRange(0, 3).Draw(r, "change of the attempt") {
	case 0:
		e, err = attempt.DecideApprove(*one, attempt.Approve{At: at, Payment: paymentID(n), Terms: 1})
	case 1:
		e, err = attempt.DecideAbort(*one, attempt.Abort{At: at, Reason: "none"})
	case 2:
		e, err = attempt.DecideRefuse(*one, attempt.Refuse{At: at, Reason: "none"})
	default:
		e, err = attempt.DecideComplete(*one, at)
	}
	if err == nil && e != nil {
		*one = record(l, eventstore.Attempts, *one, eventstore.Attempts.Key(testAccount, string(one.ID)), e, nil)
	}
}

// corrupted returns the log with some events that cannot be applied, and these events. An event
// that only lost its state may pass if a newer event of its aggregate is in the same batch.
func (l *logbook) corrupted(r *rapid.T) (bad *logbook, events map[*eventstore.Recorded]bool) {
	bad, events = newLogbook(l.shards), map[*eventstore.Recorded]bool{}
	chosen := rapid.SliceOfNDistinct(rapid.IntRange(0, len(l.all)-1), 1, 3, rapid.ID[int]).Draw(r, "corrupted")
	for i, original := range l.all {
		one := *original
		if slices.Contains(chosen, i) {
			events[&one] = true
			switch rapid.IntRange(0, 3).Draw(r, "how") {
			case 0:
				one.Body = one.Body[:len(one.Body)/2]
			case 1:
				one.Body = nil
			case 2:
				one.Body = []byte{0x80}
			default:
				one.Type = "parcel.lost"
			}
		}
		bad.events[one.Shard] = append(bad.events[one.Shard], &one)
		bad.all = append(bad.all, &one)
	}
	return bad, events
}

// rowsAt returns the rows that result from the log up to some positions.
func (l *logbook) rowsAt(t *testing.T, positions []uint64) []string {
	t.Helper()
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), l.shards)
	defer mustClose(t, m)
	for shard, events := range l.events {
		for _, r := range events { // one by one
			if r.Seq <= positions[shard] {
				mustApply(t, m, []*eventstore.Recorded{r})
			}
		}
	}
	return dump(t, m)
}

// TestUnreadableEvents checks, for any unreadable events and any cut of the log into batches, that
// the rows are those of the sound log up to the model's positions, that the model stops right
// before an unreadable event, and that a build that can read the event continues. The model passes
// no unreadable event that is the newest of its aggregate.
func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	stopped := 0
	seedtest.Check(t, func(r *rapid.T) {
		l := randomStory(r)
		bad, unreadable := l.corrupted(r)
		m := openTestModel(t, filepath.Join(t.TempDir(), FileName), l.shards)
		defer mustClose(t, m)
		same := func(when string) {
			t.Helper()
			if got, want := dump(t, m), l.rowsAt(t, m.positions()); !slices.Equal(got, want) {
				r.Fatalf("%s the rows are\n%s\nthose of the log\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		var err error
		for next := make([]int, l.shards); err == nil; {
			events := draw(r, bad, next)
			if len(events) == 0 {
				break
			}
			if err = m.apply(context.Background(), events); err == nil {
				continue
			}
			same("before an unreadable event")
			again := m.apply(context.Background(), events)
			var first, second *poison
			if !errors.As(err, &first) || !errors.As(again, &second) || first.event != second.event || !unreadable[first.event] {
				r.Fatalf("it stops with %v, then with %v", err, again)
			}
			if at := m.places[first.event.Shard]; at.number+1 != first.event.Number {
				r.Fatalf("it stops at event %d of the shard before event %d", at.number, first.event.Number)
			}
			same("after a second try")
		}
		if err == nil {
			for e := range unreadable {
				if newest := l.tips[e.Key.String()]; newest.Revision == e.Revision {
					r.Fatalf("%s revision %d was passed", e.Key, e.Revision)
				}
			}
		} else {
			stopped++
		}
		for _, events := range l.events {
			mustApply(t, m, events)
		}
		same("at the end")
	})
	if stopped == 0 {
		t.Error("no log stopped a model")
	}
}
