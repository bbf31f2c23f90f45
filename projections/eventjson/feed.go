package eventjson

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/ordered"
)

// Filter selects events. The zero value selects all events of the log.
type Filter struct {
	Account domain.AccountID  // "" selects every account
	Types   []string          // none selects all
	Payment domain.PaymentID  // "" selects every aggregate; else only events of this payment of Account, which must be set
	Times   eventstore.Window // of the events; the zero value selects all
}

func (f Filter) holds(e ordered.Event) bool {
	return f.Times.Holds(e.Time) && (f.Account == "" || e.Account == f.Account) && (len(f.Types) == 0 || slices.Contains(f.Types, e.Type))
}

// Feed reads the events of a log for analysts.
type Feed struct {
	Store eventstore.Store
	Log   *ordered.Log
}

// NewFeed returns the feed of a store.
func NewFeed(s ordered.Store) *Feed { return &Feed{Store: s, Log: ordered.New(s)} }

// errFull ends a page early. Page does not return it.
var errFull = errors.New("eventjson: the page is full")

// examined is the maximum number of events that one page reads. For a rare type in a long log the
// page ends there.
const examined = 50_000

// Page calls emit with the selected events after a position, oldest first, at most limit of them
// (0: no limit). It reads at most examined events. next is the position up to which the page has
// read, if more events may follow; else 0. ordered.ErrBeyond: the log has no such position. For a
// payment that is unknown, or of another account, the error is the domain's PaymentError.
func (f *Feed) Page(ctx context.Context, filter Filter, after uint64, limit int, emit func(Event) error) (next uint64, err error) {
	emitted, looked, last := 0, 0, after
	_, err = f.read(ctx, filter, after, func(e ordered.Event) error {
		if limit > 0 && (emitted == limit || looked == examined) {
			return errFull
		}
		looked, last = looked+1, e.Position
		if !filter.holds(e) {
			return nil
		}
		emitted++
		return f.emit(ctx, e, emit)
	})
	if errors.Is(err, errFull) {
		return last, nil
	}
	return 0, err
}

// Newest returns the newest position of the log; 0 for a log without events.
func (f *Feed) Newest(ctx context.Context) (uint64, error) { return f.Log.Size(ctx) }

// passedEvery is the number of events that are not selected after which Follow calls passed: a
// reader whose connection breaks often goes on near the place where it was.
const passedEvery = 1000

// Follow calls emit with the selected events after a position, and then with new ones, until ctx
// ends or emit returns an error. It calls passed with each position up to which it has emitted all
// selected events, also if none was selected.
func (f *Feed) Follow(ctx context.Context, filter Filter, after uint64, emit func(Event) error, passed func(position uint64) error) error {
	for {
		looked := 0
		through, err := f.read(ctx, filter, after, func(e ordered.Event) error {
			if filter.holds(e) {
				looked = 0
				return f.emit(ctx, e, emit)
			}
			if looked++; looked%passedEvery == 0 {
				return passed(e.Position)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if through > after {
			after = through
			if err := passed(after); err != nil {
				return err
			}
		}
		if err := f.Log.Await(ctx, after); err != nil {
			return err
		}
	}
}

// At returns the event of an account at a position; false: another account's event is there, or
// none.
func (f *Feed) At(ctx context.Context, account domain.AccountID, position uint64) (found Event, is bool, err error) {
	if position == 0 {
		return found, false, nil
	}
	_, err = f.Log.Read(ctx, position-1, func(e ordered.Event) error {
		if is = e.Position == position && e.Account == account; is {
			found, err = Render(ctx, f.Store, e)
		}
		return cmp.Or(err, errFull)
	})
	if errors.Is(err, errFull) || errors.Is(err, ordered.ErrBeyond) {
		err = nil
	}
	return found, is && err == nil, err
}

// read calls handle with the events after a position, of the filter's payment or of the log. It
// returns the position where it ended.
func (f *Feed) read(ctx context.Context, filter Filter, after uint64, handle func(ordered.Event) error) (uint64, error) {
	if filter.Payment == "" {
		return f.Log.ReadNear(ctx, filter.Times, after, handle)
	}
	size, err := f.Log.Size(ctx)
	if err == nil {
		err = f.Check(ctx, filter, after)
	}
	if err != nil {
		return after, err
	}
	through, err := f.Log.Aggregate(ctx, filter.key(), after, handle)
	return max(through, size), err
}

func (f *Feed) emit(ctx context.Context, e ordered.Event, emit func(Event) error) error {
	rendered, err := Render(ctx, f.Store, e)
	if err != nil {
		return err
	}
	return emit(rendered)
}

// Check returns the errors of Page: for a position that the log does not have, and a payment that
// the account does not have.
func (f *Feed) Check(ctx context.Context, filter Filter, after uint64) error {
	if err := f.Log.Reach(ctx, after); err != nil || filter.Payment == "" {
		return err
	}
	tip, err := eventstore.Load(ctx, f.Store, eventstore.Payments, filter.key(), eventstore.Latest)
	if err == nil && !tip.State.Exists() {
		err = payment.NotFound()
	}
	return err
}

func (f Filter) key() eventstore.Key { return eventstore.Payments.Key(f.Account, string(f.Payment)) }
