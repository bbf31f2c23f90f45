package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

// verdict is what became of a notification.
type verdict struct {
	effect  string // the event that it led to
	refusal string // why it cannot be true
	dispute domain.DisputeID
}

// kept is a notification as it came, with the correlation id of its coming: what it leads to is caused by it, and not by
// whatever happened last.
type kept struct {
	inbox.Received
	correlation string
}

// errNotYet means that a notification has to wait, as it well may.
var errNotYet = errors.New("it waits for something else")

// applyNotice does what a notification about a payment of account asks for. Doing it twice is doing it once: the payment
// and the dispute know what they were told.
func (s *Service) applyNotice(ctx context.Context, account domain.AccountID, e kept) (verdict, error) {
	told := e.Told
	tip, err := eventstore.Load(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(account, string(told.Reference)), eventstore.Latest)
	if err != nil {
		return verdict{}, err
	}
	if told.Kind == processor.Dispute {
		return s.applyDispute(ctx, tip, e)
	}
	return s.applyAnswer(ctx, tip, told)
}

// applyAnswer records the result of an operation: a fact like an answer. What contradicts the result that stands is
// rejected, whoever recorded that, and when.
func (s *Service) applyAnswer(ctx context.Context, tip eventstore.Tip[payment.State], told processor.Notification) (verdict, error) {
	revision, _ := revisionOf(told)
	op, found := tip.State.Operation(revision)
	if !found || op.Target.Processor != told.Processor || op.Kind != told.Kind || op.Refused || op.FoundID != "" {
		return verdict{refusal: fmt.Sprintf("The payment has no %s at %s under this key.", told.Kind, told.Processor)}, nil
	}
	if why := tip.State.Contradiction(revision, *told.Answer); why != "" {
		return verdict{refusal: why}, nil
	}
	next, err := s.recordAnswer(ctx, tip, revision, *told.Answer)
	switch {
	case errors.Is(err, payment.ErrRunning):
		return verdict{}, fmt.Errorf("%w: %w", errNotYet, err)
	case errors.Is(err, processor.ErrUnknown):
		return verdict{refusal: fmt.Sprintf("A %s cannot be %s.", told.Kind, told.Answer.State)}, nil
	case err != nil:
		return verdict{}, err
	}
	v := verdict{}
	if next.Appended {
		v.effect = next.Recorded.Type
		s.launchRequested(next, due.Time{})
	} else {
		v.refusal = next.State.Contradiction(revision, *told.Answer) // of what somebody recorded meanwhile
	}
	s.flights.lookAgain(told.Key)
	return v, nil
}

// applyUnkept records what a dispute became although the payment's inbox, for the reason full, has no room to keep what
// told of it: that is durable where it belongs, and once. Anything else the processor has to tell again.
func (s *Service) applyUnkept(ctx context.Context, requestID string, told processor.SignedNotification, at time.Time, full error) error {
	if told.Dispute == nil {
		return full
	}
	account, known, err := s.PaymentAccount(ctx, told.Reference)
	if err != nil {
		return err
	}
	if !known {
		return full
	}
	v, err := s.applyNotice(ctx, account, kept{inbox.Received{At: at, Reference: told.Reference, Told: told.Notification}, requestID})
	if errors.Is(err, errNotYet) || err == nil && v.dispute == "" {
		return full
	}
	if err == nil {
		s.Logger.Warn().Err(full).Str("processor", string(told.Processor)).Str("notification", told.ID).Str("dispute", string(v.dispute)).
			Str("effect", v.effect).Str("reason", v.refusal).Msg("what was told of a dispute was recorded there, and not kept")
	}
	return err
}
