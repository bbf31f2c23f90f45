package connector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector/book"
	"payledger/processorsim/protocol"
)

// errUnknown means that the vendor's result is not known.
var errUnknown = errors.New("the vendor's result is not known")

// Send carries out an operation, or returns the answer under its key.
func (k *Connector) Send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	own, err := k.claimAfterShort(ctx, op.Key, true)
	if err != nil {
		return processor.Answer{}, err
	}
	if own == nil {
		return processor.Answer{}, k.refuseWhileRunning(ctx, op)
	}
	var answer processor.Answer
	err = k.detached(ctx, op.Key, own, func(ctx context.Context) (err error) {
		answer, err = k.send(ctx, op)
		return err
	})
	if err != nil { // the attempt may go on, and write its answer
		return processor.Answer{}, err
	}
	return answer, nil
}

// detached runs do under a claim, which it releases. do goes on when the caller goes away: a result
// of the vendor is recorded in any case.
func (k *Connector) detached(ctx context.Context, key domain.OperationKey, own *claim, do func(context.Context) error) error {
	ended := make(chan error, 1)
	k.calls.Go(func() {
		err := do(k.ctx)
		k.release(key, own)
		ended <- err
	})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refuseWhileRunning returns the error of a repeat while an attempt runs.
func (k *Connector) refuseWhileRunning(ctx context.Context, op processor.Operation) error {
	o, err := k.book.Find(ctx, op.Key)
	if err == nil && o != nil && !o.Same(op) {
		return protocol.ErrKeyReused
	}
	return protocol.ErrInProgress
}

// send runs under the key's claim.
func (k *Connector) send(ctx context.Context, op processor.Operation) (processor.Answer, error) {
	fenced, err := k.book.Fenced(ctx, op.Key)
	if err != nil {
		return processor.Answer{}, err
	}
	if fenced {
		return processor.Answer{State: processor.Failed, At: k.now(), Code: protocol.CodeFenced, Message: "the key was fenced"}, nil
	}
	o, err := k.book.Find(ctx, op.Key)
	switch {
	case err != nil:
		return processor.Answer{}, err
	case o != nil && !o.Same(op):
		return processor.Answer{}, protocol.ErrKeyReused
	case o == nil:
		o, err = k.first(ctx, op)
	case o.Doubtful():
		err = k.resolve(ctx, o, op.Card)
	}
	if err == nil && o.Phase == book.Idle {
		err = k.again(ctx, o, op.Card)
	}
	if err != nil {
		return processor.Answer{}, err
	}
	return about(o, *o.Answer), k.crash("before the answer leaves")
}

// about returns an answer of an operation with what it is about, which the vendor's result was
// compared with. So the ledger sees that an answer under a key is of another operation than it
// thinks, after it was restored from a back-up. An answer with which nothing moves has no amount; a
// complete and a void concern the whole authorization.
func about(o *book.Operation, a processor.Answer) processor.Answer {
	a.Kind, a.Reference, a.Amount, a.Currency = o.Kind, o.Reference, nil, ""
	if o.Kind != processor.Complete && o.Kind != processor.Void && !undone(a) {
		a.Amount, a.Currency = &o.Amount, o.Currency
	}
	return a
}

// first records an operation that the book does not have, and sends it, unless the vendor's
// declaration excludes it or the vendor refuses it by itself.
func (k *Connector) first(ctx context.Context, op processor.Operation) (*book.Operation, error) {
	if err := k.crash("before the request is recorded"); err != nil {
		return nil, err
	}
	refusal, err := k.notSupported(ctx, op)
	if refusal == nil && err == nil {
		refusal, err = k.refusal(ctx, &book.Operation{Operation: op, Phase: book.Idle, Began: k.now(), Tried: k.now()}, op.Card)
	}
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return k.book.Refuse(ctx, op, *refusal, k.now())
	}
	o, err := k.book.Accept(ctx, op, k.now())
	if err != nil {
		return nil, err
	}
	return o, k.attempt(ctx, o, op.Card, certain)
}

// again sends an Idle operation, under a new key of the vendor if the present one is too old. Its
// card may come in another form than before, so it may be refused.
func (k *Connector) again(ctx context.Context, o *book.Operation, card *processor.Card) error {
	refusal, err := k.refusal(ctx, o, card)
	if err != nil {
		return err
	}
	if refusal != nil {
		return k.record(ctx, o, *refusal, nil)
	}
	if life := k.Vendor.KeyLife(); life > 0 && k.now().Sub(o.Began) >= life {
		if err := k.book.Rest(ctx, o, true, k.now()); err != nil {
			return err
		}
	}
	if err := k.book.Resend(ctx, o, k.now()); err != nil {
		return err
	}
	return k.attempt(ctx, o, card, certain)
}

// order returns what the vendor gets of an operation.
func (k *Connector) order(ctx context.Context, o *book.Operation, card *processor.Card) (Order, error) {
	order := Order{Operation: o.Operation, Key: vendorKey(o), Began: o.Began, Tried: o.Tried, Undo: o.Phase == book.Undo, Answer: o.Newest()}
	order.Card = card
	if o.ParentID == "" {
		return order, nil
	}
	parent, err := k.book.ByTransaction(ctx, o.ParentID, parents(o.Kind)...)
	switch {
	case err != nil:
	case parent != nil:
		order.Parent = &Parent{Operation: parent.Operation, Answer: *parent.Newest()}
	case o.Kind == processor.Refund: // the ledger knows a capture that was made elsewhere from a list
		order.Parent, err = k.captureElsewhere(ctx, o)
	}
	return order, err
}

// parents returns the kinds of operations that an operation may act upon. A vendor may use one
// transaction for an authorization and its captures.
func parents(kind processor.Kind) []processor.Kind {
	if kind == processor.Refund {
		return []processor.Kind{processor.Capture, processor.Authorize}
	}
	return []processor.Kind{processor.Authorize}
}

// vendorKey is derived from the operation's key, which may be longer than a vendor allows, and from
// the number of keys used up.
func vendorKey(o *book.Operation) string {
	sum := sha256.Sum256([]byte(string(o.Processor) + "\x00" + string(o.Key)))
	key := hex.EncodeToString(sum[:20])
	if o.Tries > 0 {
		key += "-" + strconv.Itoa(o.Tries)
	}
	return key
}

// tag shortens a vendor's key: within one payment it stays unique.
func tag(key string) string {
	hash, tries, again := strings.Cut(key, "-")
	if hash = hash[:min(len(hash), 10)]; again {
		hash += "-" + tries
	}
	return hash
}

// doubt is whether an earlier try under the same key of the vendor has an unknown outcome.
type doubt bool

const (
	certain  doubt = false
	doubtful doubt = true
)

// attempt sends an operation that is recorded as Sent, and records the result.
func (k *Connector) attempt(ctx context.Context, o *book.Operation, card *processor.Card, before doubt) error {
	order, err := k.order(ctx, o, card)
	if err != nil {
		return err
	}
	order.Doubtful = bool(before)
	if before == doubtful {
		if err := k.book.Resend(ctx, o, k.now()); err != nil {
			return err
		}
	}
	if err := k.crash("before the vendor gets the order"); err != nil {
		return err
	}
	call, end := context.WithTimeout(ctx, k.Patience)
	result, err := k.Vendor.Send(call, order)
	end()
	if crashed := k.crash("before the result is recorded"); crashed != nil {
		return crashed
	}
	if errors.Is(err, ErrNothing) && before == certain { // it says nothing about an earlier try
		k.Log.Warn().Err(err).Str("operation", string(o.Key)).Msg("the vendor did nothing; the ledger may send the operation again")
		return errors.Join(err, k.book.Rest(ctx, o, false, k.now()))
	}
	if err == nil {
		err = fits(o, order.Parent, result)
	}
	if err != nil {
		k.Log.Warn().Err(err).Str("operation", string(o.Key)).Msg("the vendor's result is not known")
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return k.record(ctx, o, result.Answer, nil)
}

// record records the first answer of an operation, and the end of the authorization that it ended.
// told is the notification, if no caller gets the answer.
func (k *Connector) record(ctx context.Context, o *book.Operation, answer processor.Answer, told *book.Notice) error {
	if answer.At.IsZero() {
		answer.At = k.now()
	}
	return k.recordWithParent(ctx, answer, book.Change{Operation: o, Answer: &answer, Notice: told})
}

// recordWithParent records a change that an answer makes, and the end of the authorization that the
// answer ends, as one change.
func (k *Connector) recordWithParent(ctx context.Context, answer processor.Answer, change book.Change) error {
	parent, end, err := k.ends(ctx, change.Operation, answer)
	if err != nil {
		return err
	}
	changes := []book.Change{change}
	if parent != nil {
		changes = append(changes, book.Change{Operation: parent, Ended: &end})
	}
	return k.book.Record(ctx, k.now(), changes...)
}

// ends returns the authorization that an answer to a complete or a void ends, and its end; nil if
// it ends none.
func (k *Connector) ends(ctx context.Context, o *book.Operation, answer processor.Answer) (*book.Operation, processor.Answer, error) {
	final := answer.State == processor.Succeeded || answer.State == processor.Declined
	if !final || o.Kind != processor.Complete && o.Kind != processor.Void {
		return nil, processor.Answer{}, nil
	}
	parent, err := k.book.ByTransaction(ctx, o.ParentID, processor.Authorize)
	if err != nil || parent == nil || !parent.Open() {
		return nil, processor.Answer{}, err
	}
	if o.Kind == processor.Void {
		if answer.State != processor.Succeeded {
			return nil, processor.Answer{}, nil
		}
		return parent, voided(processor.Answer{ProcessorTransactionID: parent.Newest().ProcessorTransactionID, At: answer.At}), nil
	}
	return parent, answer, nil
}

// voided makes an answer that of an authorization which a void ended.
func voided(a processor.Answer) processor.Answer {
	a.State, a.Code, a.Message = processor.Failed, protocol.CodeVoided, "the authorization was voided before it had a result"
	return a
}

// ofVoid returns the end of an authorization as the protocol has it: a failure is that of a void if
// one was sent, though the vendor states only that the authorization failed.
func (k *Connector) ofVoid(ctx context.Context, o *book.Operation, answer processor.Answer) (processor.Answer, error) {
	newest := o.Newest()
	if o.Kind != processor.Authorize || answer.State != processor.Failed || newest == nil {
		return answer, nil
	}
	sent := false
	err := k.book.Each(ctx, protocol.Filter{Reference: o.Reference}, func(other *book.Operation) error {
		void := other.Kind == processor.Void && other.ParentID == newest.ProcessorTransactionID
		sent = sent || void && (other.Phase == book.Sent || other.Phase == book.Done && other.Answer.State == processor.Succeeded)
		return nil
	})
	if sent {
		answer = voided(answer)
	}
	return answer, err
}

// fits returns an error unless a result can be the answer to an operation upon parent. Whatever
// does not fit is no fact.
func fits(o *book.Operation, parent *Parent, r Result) error {
	a := r.Answer
	switch a.State {
	case processor.Succeeded, processor.Pending, processor.ActionRequired:
		if !plain(a.ProcessorTransactionID, 255) {
			return fmt.Errorf("%s without a transaction of 1 to 255 visible ASCII characters", a.State)
		}
		if err := sameTransaction(o, a.ProcessorTransactionID); err != nil {
			return err
		}
		if a.State == processor.ActionRequired && (o.Kind != processor.Authorize || a.ActionToken == "") {
			return errors.New("an action of the customer that cannot be done")
		}
		if o.Kind == processor.Complete && parent != nil && r.Currency != "" && (r.Amount != parent.Amount || r.Currency != parent.Currency) {
			return fmt.Errorf("the vendor authorized %d %s instead of %d %s", r.Amount, r.Currency, parent.Amount, parent.Currency)
		}
		if o.Kind == processor.Complete || o.Kind == processor.Void {
			return nil // they concern the whole authorization, whatever the order's amount
		}
		if r.AsOrdered && r.Amount == 0 && r.Currency == "" {
			return nil
		}
		if r.Amount != o.Amount || r.Currency != o.Currency {
			return fmt.Errorf("the vendor did %d %s instead of %d %s", r.Amount, r.Currency, o.Amount, o.Currency)
		}
	case processor.Declined, processor.Failed:
		if a.Code == "" {
			return fmt.Errorf("%s without a code", a.State)
		}
	default:
		return fmt.Errorf("state %q", a.State)
	}
	return nil
}

// sameTransaction returns an error unless a transaction is that of the operation's first answer. A
// complete has the transaction of its authorization. A transaction never changes.
func sameTransaction(o *book.Operation, transaction string) error {
	want := ""
	switch {
	case o.Kind == processor.Complete:
		want = o.ParentID
	case o.Phase == book.Done && o.Answer != nil:
		want = o.Answer.ProcessorTransactionID
	}
	if want != "" && transaction != want {
		return fmt.Errorf("the vendor names the transaction %q instead of %q", transaction, want)
	}
	return nil
}

// plain reports whether a text has 1 to most characters, all visible ASCII: others are refused by
// the ledger.
func plain(text string, most int) bool {
	return text != "" && len(text) <= most && strings.IndexFunc(text, func(r rune) bool { return r < '!' || r > '~' }) < 0
}
