package payments

import (
	"context"
	"errors"

	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// recordOutOfBand looks for the cause of a refusal before it is recorded (§6.3, D14.14): it lists the processor's operations for the
// payment and records those that this service did not request, in the processor's order.
func (s *Payments) recordOutOfBand(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, answer processor.Answer) (eventstore.Tip[payment.State], error) {
	op, _ := tip.State.Operation(revision)
	if !process.SuspectsOutOfBand(op, answer) {
		return tip, nil
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	defer context.AfterFunc(s.Life, cancel)() // Close
	records, err := s.Processors.ByReference(asking, op.Target.Processor, tip.State.ID)
	if errors.Is(err, processor.ErrUnreadable) { // a repeated look-up would return the same
		s.Logger.Warn().Err(err).Str("payment", string(tip.State.ID)).Msg("some of the processor's operations for the payment cannot be read")
		err = nil
	} else if err != nil {
		return tip, err
	}
	for _, r := range records {
		if requested, ours := tip.State.RevisionOf(r.Key); !ours {
			tip, err = s.recordUnrequested(ctx, tip, revision, r)
		} else if requested != revision {
			tip, err = s.recordRequested(ctx, tip, requested, r)
		}
		if err != nil {
			return tip, err
		}
	}
	return tip, nil
}

// recordUnrequested records one operation that this service did not request, unless it is known or changed nothing.
func (s *Payments) recordUnrequested(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, r processor.Record) (eventstore.Tip[payment.State], error) {
	found := payment.RecordOutOfBand{Record: r}
	event, err := payment.DecideOutOfBand(tip.State, found)
	if errors.Is(err, payment.ErrForeign) {
		s.Logger.Warn().Err(err).Str("payment", string(r.Reference)).Str("operation", r.ID).Str("kind", string(r.Kind)).Str("currency", string(r.Currency)).
			Str("processor", string(r.Processor)).Str("merchantId", r.MerchantID).Msg("an operation in the processor's books cannot be one of the payment")
	}
	if err != nil || event == nil {
		if err == nil {
			s.Logger.Info().Str("payment", string(r.Reference)).Str("operation", r.ID).Str("kind", string(r.Kind)).
				Str("state", string(r.State)).Msg("ignored an operation that payledger did not request: it does not change the payment")
		}
		return tip, nil //nolint:nilerr // known already, or ignored
	}
	return s.appendEvent(ctx, tip, revision, func(meta eventstore.Meta, state payment.State) (payment.Event, error) {
		found.At, found.EventID = meta.At, meta.EventID
		return payment.DecideOutOfBand(state, found)
	})
}

// recordRequested records the outcome of another operation that this service requested, if the outcome is missing here.
// An out-of-band operation can depend on it, as a refund depends on its capture.
func (s *Payments) recordRequested(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, r processor.Record) (eventstore.Tip[payment.State], error) {
	op, known := tip.State.Operation(revision)
	if !known || !op.State.Open() && !tip.State.IsLateSuccess(revision, r.Answer) || r.State == processor.Pending {
		return tip, nil
	}
	next, err := s.appendAnswer(ctx, tip, revision, r.Answer)
	if errors.Is(err, payment.ErrRunning) || errors.Is(err, processor.ErrUnknown) {
		return next, nil // its look-ups continue
	}
	if err == nil && next.Appended {
		s.Logger.Debug().Str("operation", string(r.Key)).Msg("outcome found in the processor's books")
	}
	return next, err
}
