package connector

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"payledger/domain/processor"
	"payledger/processorsim/connector/book"
	"payledger/processorsim/protocol"
	"payledger/processorsim/server"
)

// maxEvents bounds a message of the vendor, in bytes.
const maxEvents = 1 << 20

// postEvents takes a message of the vendor. 200 means that everything in it is durable; after any
// other status the vendor sends it again.
func (k *Connector) postEvents(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvents))
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	events, err := k.Vendor.Events(r.Context(), r.Header, body)
	if errors.Is(err, ErrLater) {
		k.Log.Info().Err(err).Msg("a message of the vendor cannot be read yet; the vendor sends it again")
		http.Error(w, "try again later", http.StatusServiceUnavailable)
		return
	}
	if err != nil {
		k.Log.Warn().Err(err).Msg("a message of the vendor was refused")
		http.Error(w, "the message is not signed by the vendor, or cannot be read", http.StatusBadRequest)
		return
	}
	for _, e := range events {
		if err := k.take(r.Context(), e); err != nil {
			k.Log.Error().Err(err).Str("event", e.ID).Msg("an event of the vendor could not be recorded; the vendor sends it again")
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (k *Connector) take(ctx context.Context, e Event) error {
	switch {
	case e.Dispute != nil:
		return k.takeDispute(ctx, e)
	case e.Result != nil:
		return k.about(ctx, e, k.takeResult)
	case e.Nothing:
		return k.about(ctx, e, k.takeNothing)
	}
	return nil
}

// about calls do with the operation that an event is about, under its claim.
func (k *Connector) about(ctx context.Context, e Event, do func(context.Context, *book.Operation, Event) error) error {
	o, err := k.eventOperation(ctx, e)
	if err != nil || o == nil {
		return err // not made here: lists have it
	}
	key := o.Key
	own, other := k.claim(key, false)
	for own == nil { // an attempt that runs records its own result first
		select {
		case <-other.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		own, other = k.claim(key, false)
	}
	defer k.release(key, own)
	if o, err = k.book.Find(ctx, key); err != nil {
		return err
	}
	if tagged(o, e.Tag) && tag(vendorKey(o)) != e.Tag && !takesBack(o, e) { // a key that was used up meanwhile
		k.surprise(o, e)
		return nil
	}
	return do(ctx, o, e)
}

// tagged reports whether a tag is of the operation, under its present key of the vendor or an
// earlier one. An event that is about the operation by its transaction may have the tag of another.
func tagged(o *book.Operation, tag string) bool {
	stem, _, _ := strings.Cut(tag, "-")
	return stem != "" && strings.HasPrefix(vendorKey(o), stem)
}

// takesBack reports whether an event is a success of an Idle operation under an earlier key. The
// vendor said that it did nothing under that key. A try under another key would be a second
// operation. takesBack gives the operation that key again, so that further messages and look-ups
// are about it.
func takesBack(o *book.Operation, e Event) bool {
	if o.Phase != book.Idle || e.Result == nil || undone(e.Result.Answer) {
		return false
	}
	old := *o
	for old.Tries = range o.Tries {
		if tag(vendorKey(&old)) == e.Tag {
			o.Tries, o.Began = old.Tries, o.CreatedAt // its first try was not earlier
			return true
		}
	}
	return false
}

// surprise logs that the vendor did what it said that it did not do.
func (k *Connector) surprise(o *book.Operation, e Event) {
	if e.Result == nil || undone(e.Result.Answer) {
		return
	}
	k.Log.Error().Str("operation", string(o.Key)).Str("event", e.ID).Msg("the vendor did something that it said it did not do: look at the payment at the vendor")
}

// takeNothing records that the vendor did nothing under the newest key, and never will. It does not
// count if the vendor told a success.
func (k *Connector) takeNothing(ctx context.Context, o *book.Operation, e Event) error {
	switch {
	case !o.Doubtful():
		return nil
	case o.Answer != nil:
		k.Log.Error().Str("operation", string(o.Key)).Str("event", e.ID).Msg("the vendor says that it did nothing, and told a success before: the operation stays unknown")
		return nil
	}
	return k.book.Rest(ctx, o, true, k.now())
}

// takeResult records a result that came in a message. A result for an operation with a last answer
// changes nothing, unless it overturns a success, or is a success after such a failure. A success
// of an operation that the vendor said it did not do counts: without it, a repeat would be a second
// one.
func (k *Connector) takeResult(ctx context.Context, o *book.Operation, e Event) error {
	if again := confirmed(o, *e.Result); again != nil {
		return k.book.Record(ctx, k.now(), book.Change{Operation: o, Ended: again}) // the ledger has the success
	}
	key := o.Key
	answer := e.Result.Answer
	if answer.At.IsZero() {
		answer.At = k.now()
	}
	replaces := replaced(o, e)
	switch {
	case o.Phase == book.Done && !o.Open() && !replaces:
		if newest := o.Newest(); ended(answer) && newest.State != answer.State {
			k.Log.Error().Str("operation", string(key)).Str("event", e.ID).Str("recorded", string(newest.State)).Str("told", string(answer.State)).
				Msg("a message of the vendor contradicts the recorded result: look at the payment at the vendor")
		}
		return nil
	case o.Phase == book.Idle && undone(answer):
		return nil
	case o.Phase == book.Idle:
		k.surprise(o, e)
		if fenced, err := k.book.Fenced(ctx, key); fenced || err != nil {
			return err // the ledger has a failure
		}
	}
	order, err := k.order(ctx, o, nil)
	if err != nil {
		return err
	}
	if err := fits(o, order.Parent, *e.Result); err != nil {
		k.Log.Error().Err(err).Str("operation", string(key)).Str("event", e.ID).Msg("a message of the vendor does not fit its operation: it is not taken")
		return nil
	}
	if answer, err = k.ofVoid(ctx, o, answer); err != nil {
		return err
	}
	told := k.notice(o, e, answer)
	switch {
	case o.Phase == book.Undo && !undone(answer): // the vendor can name it now; it is undone all the same
		return k.book.Late(ctx, o, answer, k.now())
	case o.Phase != book.Done:
		err = k.record(ctx, o, answer, &told)
	case replaces:
		err = k.book.Record(ctx, k.now(), book.Change{Operation: o, Ended: &answer, Notice: &told})
	case ended(answer):
		err = k.end(ctx, o, answer, &told)
	default:
		return nil // still open
	}
	if err == nil {
		k.notify(told)
	}
	return err
}

// replaced reports whether a result replaces the last answer of an operation: a failure that
// overturns a success, or a success after such a failure, as of a capture that the vendor does
// again. Repeats of older messages count as neither: the vendor's time of the result tells them.
// Without a time, and of the same time, a failure is new, and a success is old: the operator looks
// at the payment.
func replaced(o *book.Operation, e Event) bool {
	if o.Phase != book.Done {
		return false
	}
	told := e.Result.Answer
	known := o.Answer.State == processor.Succeeded && o.Ended != nil
	switch told.State {
	case processor.Failed:
		older := known && told.At.Before(o.Ended.At) && !told.At.IsZero()
		return e.Overturns && o.Newest().State == processor.Succeeded && !older
	case processor.Succeeded:
		return known && o.Ended.State == processor.Failed && told.At.After(o.Ended.At)
	default:
		return false
	}
}

// confirmed returns a recorded success with the later time at which the vendor had it again; nil if
// the result is not that. A message about a failure between the two may come after both.
func confirmed(o *book.Operation, r Result) *processor.Answer {
	if o.Phase != book.Done || o.Answer.State != processor.Succeeded || r.Answer.State != processor.Succeeded {
		return nil
	}
	again := *o.Newest()
	if again.State != processor.Succeeded || !r.Answer.At.After(again.At) || fits(o, nil, r) != nil {
		return nil
	}
	again.At = r.Answer.At
	return &again
}

// eventOperation returns the operation that an event is about, or nil. While an operation of the
// kind has no transaction, an event that names only a transaction may be about it: that is an
// error, and the vendor sends the event again.
func (k *Connector) eventOperation(ctx context.Context, e Event) (found *book.Operation, err error) {
	if e.Key != "" {
		found, err = k.book.Find(ctx, e.Key)
		if found != nil && (e.Kind != "" && found.Kind != e.Kind || e.Reference != "" && found.Reference != e.Reference) {
			k.Log.Error().Str("operation", string(e.Key)).Str("event", e.ID).Msg("a message of the vendor names an operation of another kind or payment: it is not taken")
			return nil, nil //nolint:nilnil // it is about nothing of the book
		}
		return found, err
	}
	doubtful := false
	if e.Reference != "" {
		err = k.book.Each(ctx, protocol.Filter{Reference: e.Reference}, func(o *book.Operation) error {
			if o.Kind == e.Kind && tagged(o, e.Tag) {
				found = o
			}
			doubtful = doubtful || o.Kind == e.Kind && o.Doubtful()
			return nil
		})
		if found != nil || err != nil {
			return found, err
		}
	}
	if e.TransactionID != "" {
		found, err = k.book.ByTransaction(ctx, e.TransactionID, e.Kind)
	}
	if found == nil && err == nil && doubtful {
		err = errors.New("it may be about an operation whose transaction is not known yet")
	}
	return found, err
}

// notice returns the notification of a result. Its id is that of the operation's end: repeats have
// the same.
func (k *Connector) notice(o *book.Operation, e Event, answer processor.Answer) book.Notice {
	answer = about(o, answer)
	answer.CardToken = ""
	id := k.noticeID(strconv.FormatInt(o.Number, 10), e)
	return book.Notice{ID: id, URL: o.NotifyURL, Body: server.Encode(protocol.Notification{
		ID: id, Processor: k.Name, Type: o.Kind, IdempotencyKey: o.Key, Reference: o.Reference, Answer: &answer,
	})}
}

// disputed returns the operation that a dispute is about: that of its transaction, else the
// authorization with the event's Tag; nil if neither was made here. While a transaction of the
// payment is not known, it may be the disputed one: that is an error, and the event comes again.
func (k *Connector) disputed(ctx context.Context, e Event) (*book.Operation, error) {
	o, err := k.book.ByTransaction(ctx, e.Dispute.TransactionID, processor.Capture, processor.Authorize)
	for _, kind := range []processor.Kind{processor.Capture, processor.Authorize} {
		if o == nil && err == nil {
			o, err = k.eventOperation(ctx, Event{Kind: kind, Reference: e.Reference, Tag: e.Tag})
		}
	}
	return o, err
}

// noticeID returns the id of the notification of an event about a subject. The vendor's own id may
// have any length and any characters.
func (k *Connector) noticeID(about string, e Event) string {
	sum := sha256.Sum256([]byte(about + "\x00" + e.ID))
	return fmt.Sprintf("nt_%s_%s", k.Name, hex.EncodeToString(sum[:16]))
}

// takeDispute records a change of a dispute about a transaction of the book.
func (k *Connector) takeDispute(ctx context.Context, e Event) error {
	o, err := k.disputed(ctx, e)
	if err != nil {
		return err
	}
	if o == nil {
		k.Log.Warn().Str("dispute", e.Dispute.ID).Msg("a dispute is about a transaction that was not made here: it is left out")
		return nil
	}
	address, err := k.book.NotifyURL(ctx, o.Reference)
	if err != nil {
		return err
	}
	d := *e.Dispute
	if a := o.Newest(); a != nil && (o.Kind == processor.Authorize || d.TransactionID == "") {
		d.TransactionID = a.ProcessorTransactionID
	}
	switch {
	case d.TransactionID == "" && o.Doubtful():
		return errors.New("a dispute about an operation whose transaction is not known yet")
	case d.TransactionID == "":
		k.Log.Error().Str("dispute", d.ID).Str("operation", string(o.Key)).Msg("a dispute is about an operation that was not done: it is left out, look at the payment at the vendor")
		return nil
	}
	if d.At.IsZero() || d.ID == "" {
		return errors.New("a dispute without id or time")
	}
	if d.MerchantID == "" {
		d.MerchantID = o.MerchantID
	}
	if !protocol.ReasonCode.MatchString(d.ReasonCode) { // the ledger reads no dispute with another form
		d.Wording, d.ReasonCode = cmp.Or(d.Wording, d.ReasonCode), "unknown"
	}
	id := k.noticeID("dispute", e)
	notice := book.Notice{ID: id, URL: address, Body: server.Encode(protocol.Notification{
		ID: id, Processor: k.Name, Type: processor.Dispute, Reference: o.Reference, Dispute: server.Encode(d),
	})}
	fresh, err := k.book.Report(ctx, o.Reference, d.At, notice)
	if fresh {
		k.notify(notice)
	}
	return err
}
