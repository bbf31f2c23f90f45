package notifications

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
)

type disposition struct {
	effect  string // type of the event that it caused
	refusal string // why it was rejected
	dispute domain.DisputeID
}

// stored is a notification with the correlation id of its arrival. inbox.applied, inbox.rejected
// and the dispute's event have the same id.
type stored struct {
	inbox.Received
	correlation string
}

// errNotYet means that a notification must stay pending.
var errNotYet = errors.New("it waits for something else")

// applyNotification applies a notification about a payment of account. A repeated call changes
// nothing.
func (s *Notifications) applyNotification(ctx context.Context, account domain.AccountID, e stored) (disposition, error) {
	payload := e.Payload
	tip, err := s.Log.Payments.Load(ctx, account, payload.Reference, eventstore.Latest)
	if err != nil {
		return disposition{}, err
	}
	if payload.Kind == processor.Dispute {
		return s.applyDispute(ctx, tip, e)
	}
	return s.applyAnswer(ctx, tip, payload)
}

// applyAnswer records the result of an operation. It rejects a result that contradicts the recorded
// one, also if another node recorded it (D14.7).
func (s *Notifications) applyAnswer(ctx context.Context, tip eventstore.Tip[payment.State], payload processor.Notification) (disposition, error) {
	revision, _ := tip.State.RevisionOf(payload.Key)
	op, found := tip.State.Operation(revision)
	if !found || op.Target.Processor != payload.Processor || op.Kind != payload.Kind || op.Refused || op.OutOfBandID != "" {
		return disposition{refusal: fmt.Sprintf("The payment has no %s at %s under this key.", payload.Kind, payload.Processor)}, nil
	}
	if why := process.Operation(tip.State, op).Unfit(*payload.Answer); why != "" {
		s.NoteUnfit(payload.Processor, payload.Key, why)
		return disposition{refusal: "The answer does not fit the request: " + why + "."}, nil
	}
	if why := tip.State.Contradiction(revision, *payload.Answer); why != "" {
		return disposition{refusal: why}, nil
	}
	next, err := s.payments.RecordNotified(ctx, tip, revision, *payload.Answer)
	switch {
	case errors.Is(err, payment.ErrImpossible):
		return disposition{refusal: fmt.Sprintf("A %s cannot be %s.", payload.Kind, payload.Answer.State)}, nil
	case errors.Is(err, payment.ErrRunning), errors.Is(err, processor.ErrUnknown): // the cause of a refusal is not known yet
		return disposition{}, fmt.Errorf("%w: %w", errNotYet, err)
	case err != nil:
		return disposition{}, err
	}
	if next.Appended {
		return disposition{effect: next.Recorded.Type}, nil
	}
	return disposition{refusal: next.State.Contradiction(revision, *payload.Answer)}, nil // another result may have been recorded meanwhile
}

// applyUnstored applies a dispute notification for which the payment's inbox has no room: the
// dispute itself makes it durable. For other notifications it returns full, and the processor
// repeats them (D14.10).
func (s *Notifications) applyUnstored(ctx context.Context, requestID string, payload processor.SignedNotification, at time.Time, full error) error {
	if payload.Dispute == nil {
		return full
	}
	account, known, err := s.PaymentAccount(ctx, payload.Reference)
	if err != nil {
		return err
	}
	if !known {
		return full
	}
	result, err := s.applyNotification(ctx, account, stored{inbox.Received{At: at, Reference: payload.Reference, Payload: payload.Notification}, requestID})
	if errors.Is(err, errNotYet) || err == nil && result.dispute == "" {
		return full
	}
	if err == nil {
		s.Logger.Warn().Err(full).Str("processor", string(payload.Processor)).Str("notification", payload.ID).Str("dispute", string(result.dispute)).
			Str("effect", result.effect).Str("reason", result.refusal).Msg("a dispute notification was applied without being stored")
	}
	return err
}
