package connector

import (
	"context"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector/book"
)

// openPause is the shortest time between two questions to the vendor about one open operation: its
// message will tell, and look-ups come more often.
const openPause = time.Second

// Lookup returns the state of the operation with the key. It resolves an unknown outcome.
func (k *Connector) Lookup(ctx context.Context, _ processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	l, o, err := k.state(ctx, key)
	if err != nil || o == nil || o.Phase == book.Idle || o.Phase == book.Done && !o.Open() {
		return l, err
	}
	own, _ := k.claim(key, true)
	if own == nil { // an attempt runs: its result comes later
		return l, nil
	}
	return k.ask(ctx, key, own)
}

// ask is Lookup under a claim, which it releases.
func (k *Connector) ask(ctx context.Context, key domain.OperationKey, own *claim) (processor.Lookup, error) {
	var l processor.Lookup
	err := k.detached(ctx, key, own, func(ctx context.Context) (err error) {
		var o *book.Operation
		if l, o, err = k.state(ctx, key); err == nil && o != nil {
			k.learn(ctx, o)
			l = lookup(o)
		}
		return err
	})
	if err != nil {
		return processor.Lookup{}, err
	}
	return l, nil
}

// learn asks the vendor about an operation without a last answer, under the key's claim.
func (k *Connector) learn(ctx context.Context, o *book.Operation) {
	var err error
	switch {
	case o.Phase == book.Sent || o.Phase == book.Undo && k.mayAsk(o.Key):
		err = k.resolve(ctx, o, nil)
	case o.Phase == book.Done && o.Open() && k.mayAsk(o.Key):
		err = k.follow(ctx, o)
	}
	if err != nil {
		k.Log.Info().Err(err).Str("operation", string(o.Key)).Msg("the vendor did not say yet what became of an operation")
	}
}

// state returns what the book knows about a key, and the operation, if there is one.
func (k *Connector) state(ctx context.Context, key domain.OperationKey) (processor.Lookup, *book.Operation, error) {
	fenced, err := k.book.Fenced(ctx, key)
	if err != nil || fenced {
		return processor.Lookup{State: processor.Fenced}, nil, err
	}
	o, err := k.book.Find(ctx, key)
	if err != nil || o == nil {
		return processor.Lookup{State: processor.Unseen}, nil, err
	}
	return lookup(o), o, nil
}

func lookup(o *book.Operation) processor.Lookup {
	switch o.Phase {
	case book.Done:
		answer := about(o, *o.Newest())
		return processor.Lookup{State: processor.Known, Answer: &answer}
	case book.Idle:
		return processor.Lookup{State: processor.Unseen}
	default:
		return processor.Lookup{State: processor.Running}
	}
}

// Fence refuses the key from now on, unless the vendor may have the operation: then it is Lookup.
func (k *Connector) Fence(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error) {
	l, err := k.Lookup(ctx, name, key)
	if err != nil || l.State != processor.Unseen {
		return l, err
	}
	if err := k.crash("before the key is fenced"); err != nil {
		return processor.Lookup{}, err
	}
	own, err := k.claimAfterShort(ctx, key, false)
	if err != nil {
		return processor.Lookup{}, err
	}
	if own == nil { // a request arrived meanwhile
		return processor.Lookup{State: processor.Running}, nil
	}
	defer k.release(key, own)
	if l, _, err = k.state(ctx, key); err != nil || l.State != processor.Unseen {
		return l, err
	}
	if err := k.book.Fence(ctx, key, k.now()); err != nil {
		return processor.Lookup{}, err
	}
	return processor.Lookup{State: processor.Fenced}, nil
}

// resolve ends the doubt about an operation that is recorded as Sent or Undo, under the key's
// claim: it is Done or Idle then. After an error the doubt remains.
func (k *Connector) resolve(ctx context.Context, o *book.Operation, card *processor.Card) error {
	carries := o.Kind != processor.Authorize || card != nil && k.noToken(card) == nil
	if o.Phase == book.Sent && carries && k.Vendor.KeyLife() > 0 && k.now().Sub(o.Began) < k.Vendor.KeyLife() {
		return k.attempt(ctx, o, card, doubtful)
	}
	found, err := k.find(ctx, o)
	if err == nil && found.Undo && o.Phase == book.Sent {
		if err = k.book.Undo(ctx, o, k.now()); err == nil {
			found, err = k.find(ctx, o)
		}
	}
	switch {
	case err != nil:
		return err
	case found.Result != nil:
		return k.record(ctx, o, found.Result.Answer, nil)
	case !found.Nothing:
		return errUnknown
	}
	return k.book.Rest(ctx, o, true, k.now())
}

// find asks the vendor what became of an operation.
func (k *Connector) find(ctx context.Context, o *book.Operation) (Finding, error) {
	order, err := k.order(ctx, o, nil)
	if err != nil {
		return Finding{}, err
	}
	call, end := context.WithTimeout(ctx, k.Patience)
	defer end()
	found, err := k.Vendor.Find(call, order)
	if err != nil {
		return Finding{}, fmt.Errorf("%w: %w", errUnknown, err)
	}
	if crashed := k.crash("before the finding is recorded"); crashed != nil {
		return Finding{}, crashed
	}
	if found.Result != nil {
		if err := fits(o, order.Parent, *found.Result); err != nil {
			k.Log.Error().Err(err).Str("operation", string(o.Key)).Msg("what the vendor says about an operation does not fit its request: it is not taken")
			return Finding{}, fmt.Errorf("%w: %w", errUnknown, err)
		}
		if o.Phase == book.Undo && !undone(found.Result.Answer) {
			found.Result = nil
		}
	}
	return found, nil
}

// mayAsk reports whether the last question to the vendor about an open operation is old enough.
func (k *Connector) mayAsk(key domain.OperationKey) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for other, at := range k.seen {
		if now.Sub(at) >= openPause || now.Before(at) {
			delete(k.seen, other)
		}
	}
	if _, recent := k.seen[key]; recent {
		return false
	}
	k.seen[key] = now
	return true
}

// follow asks the vendor for the end of an open operation, whose message may be lost.
func (k *Connector) follow(ctx context.Context, o *book.Operation) error {
	found, err := k.find(ctx, o)
	if err != nil || found.Result == nil || !ended(found.Result.Answer) {
		return err
	}
	answer, err := k.ofVoid(ctx, o, found.Result.Answer)
	if err != nil {
		return err
	}
	return k.end(ctx, o, answer, nil)
}

// ended reports whether an answer is the last one of its operation.
func ended(a processor.Answer) bool {
	return a.State == processor.Succeeded || a.State == processor.Declined || a.State == processor.Failed
}

// undone reports whether an answer can be the result of an operation that is to be undone.
func undone(a processor.Answer) bool {
	return a.State == processor.Declined || a.State == processor.Failed
}

// end records the end of an open operation, and of the authorization that it ends. An authorization
// that waited for its customer goes on answering that under its own key; a pending operation
// answers its result.
func (k *Connector) end(ctx context.Context, o *book.Operation, answer processor.Answer, told *book.Notice) error {
	if answer.At.IsZero() {
		answer.At = k.now()
	}
	change := book.Change{Operation: o, Notice: told}
	if o.Answer.State == processor.ActionRequired {
		change.Ended = &answer
	} else {
		change.Answer = &answer
	}
	return k.recordWithParent(ctx, answer, change)
}
