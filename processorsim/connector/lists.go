package connector

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector/book"
	"payledger/processorsim/protocol"
)

// vendorBehind is how far a vendor's clock may be behind the connector's.
const vendorBehind = 10 * time.Minute

// Disputes returns notifications about disputes, oldest first.
func (k *Connector) Disputes(ctx context.Context, f protocol.DisputeFilter) (protocol.DisputeList, error) {
	return k.book.Disputes(ctx, f)
}

// Entries calls yield with the operations of the book, and those that the vendor lists and the book
// does not have, in order of creation.
func (k *Connector) Entries(ctx context.Context, f protocol.Filter, yield func(protocol.Entry) error) error {
	outside, err := k.outside(ctx, f)
	if err != nil {
		return err
	}
	err = k.book.Each(ctx, f, func(o *book.Operation) error {
		if o, err = k.settled(ctx, o); err != nil {
			return err
		}
		if o.Phase == book.Idle { // nothing was done
			return nil
		}
		for len(outside) > 0 && outside[0].CreatedAt.Before(o.CreatedAt) && !(f.Reference != "" && actsUpon(outside[0], o)) {
			if err := yield(outside[0]); err != nil {
				return err
			}
			outside = outside[1:]
		}
		return yield(entry(o))
	})
	for _, e := range outside {
		if err == nil {
			err = yield(e)
		}
	}
	return err
}

// actsUpon reports whether an entry of the vendor acts upon an operation of the book. The list of a
// payment has it behind that, also if the vendor's times are whole seconds.
func actsUpon(e protocol.Entry, o *book.Operation) bool {
	newest := o.Newest()
	return e.ParentID != "" && newest != nil && newest.ProcessorTransactionID == e.ParentID
}

// settled resolves an operation of unknown outcome. It waits for an attempt that runs. Without
// success there is no list: one without the operation would be wrong, and one with it, too.
func (k *Connector) settled(ctx context.Context, o *book.Operation) (*book.Operation, error) {
	for asked := false; o.Doubtful(); {
		if asked {
			return nil, fmt.Errorf("operation %q: %w", o.Key, errUnknown)
		}
		own, other := k.claim(o.Key, true)
		if asked = own != nil; asked {
			if _, err := k.ask(ctx, o.Key, own); err != nil {
				return nil, err
			}
		} else {
			select {
			case <-other.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		var err error
		if o, err = k.book.Find(ctx, o.Key); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// outside returns the operations that the vendor lists and the book does not have.
func (k *Connector) outside(ctx context.Context, f protocol.Filter) (list []protocol.Entry, err error) {
	lister, can := k.Vendor.(Lister)
	if !can {
		return nil, nil
	}
	known, err := k.authorizations(ctx, f)
	if err != nil {
		return nil, err
	}
	var all []protocol.Entry
	err = lister.List(ctx, f, known, func(e protocol.Entry) error { all = append(all, e); return nil })
	if err != nil {
		return nil, fmt.Errorf("the vendor's list: %w", err)
	}
	// The book has each operation of this connector that the vendor lists, because it records the
	// request first. It has the transactions of all of them when no outcome is unknown. No list of
	// the vendor has an operation that began after its time.
	var until time.Time
	if !f.To.IsZero() {
		until = f.To.Add(vendorBehind)
	}
	unknown, err := k.book.Doubtful(ctx, f.Reference, until)
	if err != nil {
		return nil, err
	}
	for _, o := range unknown {
		if _, err := k.settled(ctx, o); err != nil {
			return nil, err
		}
	}
	for _, e := range all {
		known, err := k.has(ctx, e)
		if err != nil {
			return nil, err
		}
		if !known {
			e.Processor = k.Name
			e.IdempotencyKey = cmp.Or(e.IdempotencyKey, domain.OperationKey("outside."+e.ID))
			list = append(list, e)
		}
	}
	return list, nil
}

// has reports whether the book has an operation that the vendor lists.
func (k *Connector) has(ctx context.Context, e protocol.Entry) (bool, error) {
	o, err := k.book.ByTransaction(ctx, e.ProcessorTransactionID, e.Operation)
	if err == nil && o == nil && e.IdempotencyKey != "" {
		o, err = k.book.Find(ctx, e.IdempotencyKey)
	}
	return o != nil, err
}

// captureElsewhere returns the capture that a refund acts upon, if the vendor lists it and the book
// does not have it; nil if the vendor lists none.
func (k *Connector) captureElsewhere(ctx context.Context, refund *book.Operation) (*Parent, error) {
	list, err := k.listedCaptures(ctx, refund.Reference)
	for _, e := range list {
		if e.ProcessorTransactionID == refund.ParentID {
			return &Parent{Answer: e.Answer, Operation: processor.Operation{
				Kind: e.Operation, Processor: k.Name, MerchantID: e.ProcessorMerchantID, Reference: e.Reference, ParentID: e.ParentID,
				Amount: e.Amount, Currency: e.Currency, Final: e.Final,
			}}, err
		}
	}
	return nil, err
}

// capturedElsewhere returns the amount of an authorization that was captured, by the vendor's list,
// with captures that the book does not have.
func (k *Connector) capturedElsewhere(ctx context.Context, reference domain.PaymentID, transaction string) (sum domain.Amount, err error) {
	list, err := k.listedCaptures(ctx, reference)
	if err != nil {
		return 0, err
	}
	for _, e := range list {
		if e.ParentID != transaction || e.State != processor.Succeeded {
			continue
		}
		known, err := k.has(ctx, e)
		if err != nil {
			return 0, err
		}
		if !known {
			sum += e.Amount
		}
	}
	return sum, nil
}

// listedCaptures returns the captures of a payment that the vendor lists.
func (k *Connector) listedCaptures(ctx context.Context, reference domain.PaymentID) (list []protocol.Entry, err error) {
	lister, can := k.Vendor.(Lister)
	if !can {
		return nil, nil
	}
	f := protocol.Filter{Reference: reference}
	known, err := k.authorizations(ctx, f)
	if err != nil || len(known) == 0 {
		return nil, err
	}
	call, end := context.WithTimeout(ctx, k.Patience)
	defer end()
	err = lister.List(call, f, known, func(e protocol.Entry) error {
		if e.Operation == processor.Capture && e.Reference == reference {
			list = append(list, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the vendor's list: %w", err)
	}
	return list, nil
}

// authorizations returns the transactions of the authorizations of the payment that f names.
func (k *Connector) authorizations(ctx context.Context, f protocol.Filter) (known []string, err error) {
	if f.Reference == "" {
		return nil, nil
	}
	err = k.book.Each(ctx, protocol.Filter{Reference: f.Reference}, func(o *book.Operation) error {
		if a := o.Newest(); a != nil && o.Kind == processor.Authorize && a.ProcessorTransactionID != "" {
			known = append(known, a.ProcessorTransactionID)
		}
		return nil
	})
	return known, err
}

// entry is an operation with an answer as lists show it. The books know no ACTION_REQUIRED.
func entry(o *book.Operation) protocol.Entry {
	e := protocol.Entry{Line: protocol.Line{
		ID: fmt.Sprintf("op_%d", o.Number), Processor: o.Processor, ProcessorMerchantID: o.MerchantID, Reference: o.Reference,
		Operation: o.Kind, IdempotencyKey: o.Key, Amount: o.Amount, Currency: o.Currency, State: processor.Pending,
		CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, ParentID: o.ParentID,
	}, Final: o.Final}
	newest := o.Newest()
	e.Answer, e.ProcessorTransactionID = about(o, *newest), cmp.Or(o.Answer.ProcessorTransactionID, newest.ProcessorTransactionID)
	if newest.State != processor.ActionRequired {
		e.State = newest.State
	}
	return e
}
