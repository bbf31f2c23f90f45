package payments

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/commands"
)

// claimID returns the id under which the operation's key is claimed (D9). No claim is needed for
// the key that created the payment, and for the key of a workflow's action, which no other payment
// uses.
func (o operation) claimID(account domain.AccountID) (id domain.PaymentID, needed bool) {
	if o.key == "" || workflow.IsStepKey(o.key) {
		return "", false
	}
	id = domain.PaymentIDForKey(account, o.key)
	return id, id != o.payment
}

// checkKey refuses a key that belongs to another payment (D9). It records nothing.
func (s *Payments) checkKey(ctx context.Context, by commands.Caller, o operation) error {
	id, needed := o.claimID(by.Account)
	if !needed {
		return nil
	}
	tip, err := s.Log.Payments.Load(ctx, by.Account, id, eventstore.Applied)
	if err != nil {
		return err
	}
	_, err = payment.DecideClaim(tip.State, payment.ClaimKey{Payment: o.payment})
	return s.addOwnerStatus(ctx, by.Account, err)
}

// refuseUsedKey refuses a key that the payment has used, or that belongs to another payment (D9).
func (s *Payments) refuseUsedKey(ctx context.Context, by commands.Caller, state payment.State, o operation) error {
	if o.key != "" && state.Used(domain.KeyHash(by.Account, o.key)) {
		return state.KeyUsed()
	}
	return s.checkKey(ctx, by, o)
}

// claimKey records that the key belongs to the payment (D9). After a crash, a repeat of the request
// finds the claim.
func (s *Payments) claimKey(ctx context.Context, by commands.Caller, o operation) error {
	id, needed := o.claimID(by.Account)
	if !needed {
		return nil
	}
	_, err := commands.Request(ctx, s.Base, by, s.Log.Payments.ExecuteNew, id, func(state payment.State, at time.Time) (payment.Event, error) {
		return payment.DecideClaim(state, payment.ClaimKey{At: at, Account: by.Account, Payment: o.payment, Operation: o.kind})
	})
	return s.addOwnerStatus(ctx, by.Account, err)
}

// usedByResume returns the error of a used key, if an earlier resume of the payment claimed the
// key, else refusal. If a notification recorded the result that the earlier resume had looked up,
// the claim alone has its key (D9).
func (s *Payments) usedByResume(ctx context.Context, by commands.Caller, in ResumeInput, state payment.State, refusal error) error {
	id, needed := operation{payment: in.Payment, key: in.IdempotencyKey}.claimID(by.Account)
	if !needed {
		return refusal
	}
	tip, err := s.Log.Payments.Load(ctx, by.Account, id, eventstore.Latest) // another node may have claimed it
	if err != nil {
		return err
	}
	if c := tip.State.Claim; c != nil && c.Payment == in.Payment && c.Operation == processor.Complete {
		return state.KeyUsed()
	}
	return refusal
}

// addOwnerStatus adds the owner's status to the error of a used key (D3). It returns any other
// error unchanged.
func (s *Payments) addOwnerStatus(ctx context.Context, account domain.AccountID, err error) error {
	refused, is := errors.AsType[*domain.Error](err)
	if !is || refused.Reason != domain.ReasonIdempotencyKeyExists {
		return err
	}
	if refused.Payment == "" {
		refused.Recovery = payment.KeyOfNoPayment
		return refused
	}
	owner, loadErr := s.Log.Payments.Load(ctx, account, refused.Payment, eventstore.Applied)
	if loadErr != nil { // the key is used: an earlier request with it was recorded
		return domain.OutcomeUnknown(loadErr)
	}
	refused.Status = string(owner.State.Status())
	return refused
}
