package reconcile

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/workers"
)

// mostDoubtful is the number of records that wait for one more reading of the instruments. It
// bounds the memory.
const mostDoubtful = 1000

// verifications knows which references in the books are verifications of cards (D5.11), and not
// payments. A reference derives from a token and does not show it, so all instruments are read: 20
// bytes for each verified one stay in memory.
type verifications struct {
	seed maphash.Seed

	mu       sync.Mutex
	known    map[uint64]struct{} // by the hash of the reference
	doubtful []processor.Record  // authorizations of 0 of unknown payments: verifications requested meanwhile, or of another account
}

func newVerifications() *verifications {
	return &verifications{seed: maphash.MakeSeed(), known: map[uint64]struct{}{}}
}

func (v *verifications) add(reference domain.PaymentID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known[maphash.String(v.seed, string(reference))] = struct{}{}
}

func (v *verifications) has(reference domain.PaymentID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, known := v.known[maphash.String(v.seed, string(reference))]
	return known
}

// later keeps an authorization of 0 for the next reading of the instruments. It returns all that
// are kept if they are enough for one.
func (v *verifications) later(there processor.Record) (enough []processor.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.doubtful = append(v.doubtful, there); len(v.doubtful) >= mostDoubtful {
		enough, v.doubtful = v.doubtful, nil
	}
	return enough
}

// request is one request to verify a card, with its result.
type request struct {
	instrument.VerificationRequested
	revision uint64
	state    payment.OperationState
}

// requestsOf returns an instrument's verification requests, oldest first.
func (r *run) requestsOf(ctx context.Context, newest *eventstore.Recorded) (list []request, err error) {
	s, err := eventstore.StateAt(ctx, r.Store, eventstore.Instruments, newest)
	if err != nil || s.Verification == nil && s.VaultedAt == nil && s.InvalidAt == nil { // it was tokenized, or used, and no more
		return nil, err
	}
	events, err := r.Store.History(ctx, newest.Key)
	if err != nil {
		return nil, err
	}
	end := func(revision uint64, state payment.OperationState) {
		for i := range list {
			if list[i].revision == revision {
				list[i].state = state
			}
		}
	}
	for _, recorded := range events {
		e, err := eventstore.Instruments.Event(recorded)
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case instrument.VerificationRequested:
			if n := len(list); n > 0 { // a request to the next processor follows a failure at this one
				list[n-1].state = payment.StateFailed
			}
			list = append(list, request{e, recorded.Revision, payment.StateRequested})
		case instrument.VerificationFailed:
			end(e.Request, payment.StateFailed)
		case instrument.Vaulted:
			end(e.Verified, payment.StateSucceeded)
		}
	}
	return list, nil
}

// eachVerified calls handle with the newest event of each instrument of an account that has
// verification requests.
func (r *run) eachVerified(ctx context.Context, account domain.AccountID, handle func(ctx context.Context, reference domain.PaymentID, newest *eventstore.Recorded, list []request) error) error {
	return workers.Pool(ctx, atOnce, func(ctx context.Context, submit func(*eventstore.Recorded) error) error {
		return r.Store.Newest(ctx, account, eventstore.Instruments.Name, func(uint64) {}, submit)
	}, func(ctx context.Context, newest *eventstore.Recorded) error {
		list, err := r.requestsOf(ctx, newest)
		if err != nil || len(list) == 0 {
			return err
		}
		return handle(ctx, domain.VerificationReference(newest.Key.Account, domain.Token(newest.Key.ID)), newest, list)
	})
}

// instruments compares the verifications of the account's cards with the books, both ways.
func (r *run) instruments(ctx context.Context) error {
	return r.eachVerified(ctx, r.Account, func(ctx context.Context, reference domain.PaymentID, newest *eventstore.Recorded, list []request) error {
		r.verified.add(reference)
		here := func(list []request) (n int) {
			for _, one := range list {
				if one.Processor == r.Processor && r.covers(one.At) {
					n++
				}
			}
			return n
		}
		defer func() { r.tell(func(c *Progress) { c.Operations += here(list) }) }()
		compare := func() ([]Difference, error) {
			records, err := r.Books.ByReference(ctx, r.Processor, reference)
			return slices.DeleteFunc(r.verificationDifferences(reference, list, records), func(d Difference) bool {
				return !d.requestedAt.IsZero() && !r.covers(d.requestedAt) || d.There != nil && !r.covers(d.There.At) ||
					err != nil && d.Kind == MissingThere // it may be the entry that cannot be read
			}), err
		}
		found, err := compare()
		if err == nil && len(found) == 0 || err != nil && !errors.Is(err, processor.ErrUnreadable) {
			return err
		}
		tip, err := eventstore.Load(ctx, r.Store, eventstore.Instruments, newest.Key, eventstore.Latest)
		if err != nil {
			return err
		}
		if list, err = r.requestsOf(ctx, tip.Recorded); err != nil {
			return err
		}
		found, err = compare()
		if err = r.unread(reference, err); err != nil {
			return err
		}
		return r.found(found)
	})
}

// verificationDifferences compares the requests to verify one card with the records under its
// reference. A request without a result here may have any result there: a customer who went away
// did not repeat it. A request that failed here may be missing there, or wait there for the
// customer's action, which no verification allows.
func (r *run) verificationDifferences(reference domain.PaymentID, list []request, records []processor.Record) (found []Difference) {
	p, currencies := payment.State{ID: reference}, map[uint64]domain.Currency{}
	for _, one := range list {
		op := payment.Operation{
			Revision: one.revision, Kind: processor.Authorize, Target: payment.Target{Processor: one.Processor, MerchantID: one.MerchantID},
			RequestedAt: one.At, State: one.state,
		}
		p.Operations, currencies[one.revision] = append(p.Operations, op), one.Currency
		if one.state == payment.StateSucceeded {
			found = append(found, missingThere(payment.State{ID: reference, Currency: one.Currency, Operations: []payment.Operation{op}}, r.Processor, records)...)
		}
	}
	for _, there := range records {
		if there.State == processor.Declined { // both are "not verified" here
			there.State = processor.Failed
		}
		op, _ := find(p, there)
		p.Currency = currencies[op.Revision]
		found = append(found, slices.DeleteFunc(judged(p, there, records, false), func(d Difference) bool {
			return d.Kind == OtherState && (op.State == payment.StateRequested || op.State == payment.StateFailed && there.State == processor.Pending)
		})...)
	}
	return found
}

// settle reads the instruments of the account, and of those that share its merchant accounts, once
// more, and reports the records that are no verification.
func (r *run) settle(ctx context.Context, doubtful []processor.Record) error {
	if len(doubtful) == 0 {
		return nil
	}
	sharers, err := r.sharing()
	if err != nil {
		return err
	}
	others := newVerifications()
	for _, id := range sharers {
		if err := r.eachVerified(ctx, id, func(_ context.Context, reference domain.PaymentID, _ *eventstore.Recorded, _ []request) error {
			others.add(reference)
			return nil
		}); err != nil {
			return err
		}
	}
	if err := r.eachVerified(ctx, r.Account, func(_ context.Context, reference domain.PaymentID, _ *eventstore.Recorded, _ []request) error {
		r.verified.add(reference)
		return nil
	}); err != nil {
		return err
	}
	for _, there := range doubtful {
		switch {
		case others.has(there.Reference):
		case r.verified.has(there.Reference):
			r.tell(func(c *Progress) { c.Records++ })
		default:
			if err := r.compareRecord(ctx, there, payment.State{}); err != nil {
				return err
			}
		}
	}
	return nil
}
