package payments

import (
	"context"
	"errors"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// recordOutOfBand looks for out-of-band operations before a refusal, or a success that releases the
// rest of the authorization, is recorded (§6.3, D14.14): it lists the processor's operations for
// the payment and records those that this service did not request, in the processor's order.
func (s *Payments) recordOutOfBand(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, answer processor.Answer) (eventstore.Tip[payment.State], error) {
	if !process.SuspectsOutOfBand(tip.State, revision, answer) {
		return tip, nil
	}
	return s.recordBesides(ctx, tip, revision)
}

// recordBesides records the operations in the processor's books that are missing here, but for the
// outcome of the operation at revision. An error that wraps ErrUnknown means that this outcome must
// not be recorded: the books have another operation under its key.
func (s *Payments) recordBesides(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64) (eventstore.Tip[payment.State], error) {
	tip, err := s.recordBooks(ctx, tip, revision, revision)
	if misfit, is := errors.AsType[otherInBooks](err); is {
		s.unfit(tip.State, revision, misfit.Error())
	}
	return tip, err
}

// otherInBooks is the reason why the records under an operation's key are not of the operation.
type otherInBooks string

func (o otherInBooks) Error() string { return "in the processor's books " + string(o) }

func (o otherInBooks) Unwrap() error { return processor.ErrUnknown }

// underKey returns an otherInBooks if there are records under the operation's key, and none is of
// the operation.
func underKey(op processor.Operation, records []processor.Record) error {
	var other error
	for _, r := range records {
		if r.Key != op.Key {
			continue
		}
		why := op.OtherRecord(r)
		if why == "" {
			return nil
		}
		other = otherInBooks(why)
	}
	return other
}

// errOldBooks means that the payment got an event after its operations were listed: an adjustment
// in the list may have been overtaken since.
var errOldBooks = errors.New("the payment has events that are newer than the list of its operations")

// recordBooks records the operations in the processor's books that are missing here, but for the
// outcome of the operation at except; 0: of each one. The operation at revision names the
// processor. The error is an otherInBooks if another operation stands under the key of except.
func (s *Payments) recordBooks(ctx context.Context, tip eventstore.Tip[payment.State], revision, except uint64) (eventstore.Tip[payment.State], error) {
	for {
		next, err := s.recordList(ctx, tip, revision, except)
		if !errors.Is(err, errOldBooks) {
			return next, err
		}
		tip = next
	}
}

// recordList is recordBooks with one list of the operations.
func (s *Payments) recordList(ctx context.Context, tip eventstore.Tip[payment.State], revision, except uint64) (eventstore.Tip[payment.State], error) {
	op, _ := tip.State.Operation(revision)
	asking, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	defer context.AfterFunc(s.Life, cancel)() // Close
	records, err := s.Processors.ByReference(asking, op.Target.Processor, tip.State.ID)
	if errors.Is(err, processor.ErrUnreadable) { // a repeated look-up would return the same
		s.Logger.Warn().Err(err).Str("payment", string(tip.State.ID)).Msg("some of the processor's operations for the payment cannot be read")
		err = nil
	} else if err != nil {
		return tip, err
	}
	for i, r := range records {
		if requested, ours := tip.State.RequestOf(r); !ours {
			s.noteOtherKind(tip.State, r, except)
			overtaken := r.Kind == processor.Adjust && slices.ContainsFunc(records[i+1:], tip.State.GivesTotal)
			tip, err = s.recordUnrequested(ctx, tip, revision, payment.RecordOutOfBand{Record: r, Overtaken: overtaken})
		} else if requested.Revision != except {
			tip, err = s.recordRequested(ctx, tip, requested.Revision, r)
		}
		if err != nil {
			return tip, err
		}
	}
	excepted, _ := tip.State.Operation(except)
	return tip, underKey(process.Operation(tip.State, excepted), records)
}

// noteOtherKind tells operators of a record under the key of an operation of another kind that has
// no outcome yet, unless the operation is the one at except: its caller tells them.
func (s *Payments) noteOtherKind(p payment.State, r processor.Record, except uint64) {
	revision, ours := p.RevisionOf(r.Key)
	op, requested := p.Operation(revision)
	if ours && requested && revision != except && op.State.Open() {
		s.unfit(p, revision, process.Operation(p, op).OtherRecord(r))
	}
}

// capturedUnknown reads the processor's books about a payment that ended unpaid, and reports
// whether an amount was captured there.
func (s *Payments) capturedUnknown(ctx context.Context, account domain.AccountID, id domain.PaymentID) bool {
	tip, err := s.Log.Payments.Load(ctx, account, id, eventstore.Latest)
	if err != nil || !tip.State.EndedUnpaid() {
		return false
	}
	defer commands.AsideLater(ctx)()
	tip, err = s.recordBooks(context.WithoutCancel(ctx), tip, tip.State.Authorization().Revision, 0)
	if err != nil {
		s.Logger.Warn().Err(err).Str("payment", string(id)).Msg("a payment that ended unpaid cannot be compared with the processor's books")
	}
	return !tip.State.EndedUnpaid()
}

// recordUnrequested records one operation that this service did not request, unless it is known or
// changed nothing.
func (s *Payments) recordUnrequested(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, found payment.RecordOutOfBand) (eventstore.Tip[payment.State], error) {
	r := found.Record
	event, err := payment.DecideOutOfBand(tip.State, found)
	if errors.Is(err, payment.ErrForeign) {
		s.Logger.Warn().Err(err).Str("payment", string(r.Reference)).Str("operation", r.ID).Str("kind", string(r.Kind)).Str("currency", string(r.Currency)).
			Str("processor", string(r.Processor)).Str("merchantId", r.MerchantID).Msg("an operation in the processor's books cannot be one of the payment")
		if why := r.Contradiction(); why != "" {
			s.NoteUnfit(r.Processor, r.Key, why)
		}
	}
	if err != nil || event == nil {
		if err == nil {
			s.Logger.Info().Str("payment", string(r.Reference)).Str("operation", r.ID).Str("kind", string(r.Kind)).
				Str("state", string(r.State)).Msg("ignored an operation that payledger did not request: it does not change the payment")
		}
		return tip, nil //nolint:nilerr // known already, or ignored
	}
	return s.appendEvent(ctx, tip, revision, func(meta eventstore.Meta, state payment.State) (payment.Event, error) {
		if r.Kind == processor.Adjust && state.Revision != tip.State.Revision {
			return nil, errOldBooks
		}
		found.At, found.EventID = meta.At, meta.EventID
		return payment.DecideOutOfBand(state, found)
	})
}

// recordRequested records the outcome of another operation that this service requested, if the
// outcome is missing here and the record fits. An out-of-band operation can depend on it, as a
// refund depends on its capture.
func (s *Payments) recordRequested(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, r processor.Record) (eventstore.Tip[payment.State], error) {
	if !tip.State.Awaits(revision, r.Answer) || r.State == processor.Pending || r.First() {
		return tip, nil
	}
	op, _ := tip.State.Operation(revision)
	if why := process.Operation(tip.State, op).UnfitRecord(r); why != "" {
		s.unfit(tip.State, revision, why)
		return tip, nil
	}
	next, err := s.appendAnswer(ctx, tip, revision, r.Answer, "")
	if errors.Is(err, payment.ErrRunning) || errors.Is(err, processor.ErrUnknown) {
		return next, nil // its look-ups continue
	}
	if err == nil && next.Appended {
		s.Logger.Debug().Str("operation", string(r.Key)).Msg("outcome found in the processor's books")
	}
	return next, err
}
