package payments

import (
	"context"
	"errors"

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
	return s.recordBooks(ctx, tip, revision, revision)
}

// recordBooks records the operations in the processor's books that are missing here, but for the
// outcome of the operation at except. The operation at revision names the processor.
func (s *Payments) recordBooks(ctx context.Context, tip eventstore.Tip[payment.State], revision, except uint64) (eventstore.Tip[payment.State], error) {
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
	for _, r := range records {
		if requested, ours := tip.State.RevisionOf(r.Key); !ours {
			tip, err = s.recordUnrequested(ctx, tip, revision, r)
		} else if requested != except {
			tip, err = s.recordRequested(ctx, tip, requested, r)
		}
		if err != nil {
			return tip, err
		}
	}
	return tip, nil
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

// recordRequested records the outcome of another operation that this service requested, if the
// outcome is missing here and the record fits. An out-of-band operation can depend on it, as a
// refund depends on its capture.
func (s *Payments) recordRequested(ctx context.Context, tip eventstore.Tip[payment.State], revision uint64, r processor.Record) (eventstore.Tip[payment.State], error) {
	if !tip.State.Awaits(revision, r.Answer) || r.State == processor.Pending {
		return tip, nil
	}
	op, _ := tip.State.Operation(revision)
	if why := process.Operation(tip.State, op).UnfitRecord(r); why != "" {
		s.unfit(tip.State, revision, why)
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
