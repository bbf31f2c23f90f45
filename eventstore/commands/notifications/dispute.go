package notifications

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// applyDispute records a processor's dispute notification on the dispute (D16). The payment does
// not change.
func (s *Notifications) applyDispute(ctx context.Context, paid eventstore.Tip[payment.State], e stored) (disposition, error) {
	n := e.Payload
	payload := n.Dispute
	transaction, processed := disputed(paid.State, n.Processor, payload.TransactionID)
	switch {
	case !processed && paid.State.Waiting():
		return disposition{}, fmt.Errorf("%w: the authorization has no result", errNotYet)
	case !processed:
		return disposition{refusal: fmt.Sprintf("The payment has no transaction at %s.", n.Processor)}, nil
	}
	id := domain.DisputeIDFor(paid.State.Account, string(n.Processor), payload.ID)
	fact := factOf(n, e.At, transaction)
	by := commands.Caller{Account: paid.State.Account, Actor: "processor:" + string(n.Processor), RequestID: e.correlation}
	tip, err := commands.Follow(ctx, s.Base, by, s.Log.Disputes.Execute, id, func(state dispute.State, at time.Time) (dispute.Event, error) {
		return dispute.DecideRecord(state, dispute.Record{
			At: at, ID: id, Account: paid.State.Account, Fact: fact, Subject: dispute.Subject{
				Payment: paid.State.ID, OrderID: paid.State.OrderID, PaymentMethodType: paid.State.Method.Type,
				Network: paid.State.Method.Card.Network, Processor: n.Processor, ProcessorDisputeID: payload.ID,
			},
		})
	})
	if err != nil {
		return disposition{}, err
	}
	result := disposition{dispute: id}
	if i := slices.IndexFunc(tip.State.Facts, func(f dispute.RecordedFact) bool { return f.EventID == fact.EventID }); i >= 0 {
		result.refusal = tip.State.Facts[i].Refusal // also of a fact recorded before a crash
	}
	if tip.Appended {
		result.effect = tip.Recorded.Type
	}
	return result, nil
}

// disputed returns the disputed transaction: the processor's, else that of the newest confirmed
// capture, else the authorization's (D16). It returns false if the payment was never at that
// processor.
func disputed(s payment.State, name processor.Name, payload string) (transaction string, processed bool) {
	for _, op := range s.Whole().Operations {
		if op.Target.Processor != name || op.TransactionID == "" {
			continue
		}
		if op.Kind == processor.Authorize && !processed || op.Kind == processor.Capture && op.State == payment.StateSucceeded {
			transaction = op.TransactionID
		}
		processed = true
	}
	return cmp.Or(payload, transaction), processed
}

func factOf(n processor.Notification, at time.Time, transaction string) dispute.Fact {
	payload := n.Dispute
	fact := dispute.Fact{
		EventID: n.ID, At: payload.At, ReceivedAt: at, Type: payload.Type, Status: payload.Status, TransactionID: transaction,
		MerchantID: payload.MerchantID, ReasonCode: payload.ReasonCode, Reason: processor.DisputeReason(payload.ReasonCode),
		Wording: payload.Wording, Amount: payload.Amount, Currency: payload.Currency,
	}
	if !payload.ChallengeBy.IsZero() {
		by := payload.ChallengeBy
		fact.ChallengeBy = &by
	}
	return fact
}
