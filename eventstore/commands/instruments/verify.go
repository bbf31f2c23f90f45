package instruments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/due"
	"payledger/eventstore/secrets"
)

// approval is the answer to a successful verification.
type approval struct {
	request uint64            // revision of the approved request
	token   secrets.CardToken // of the card; without a Token the processor gave none
}

// verify requests an authorization of zero from the processors of the route in turn (D5.11). It
// looks up an unknown outcome until the payment timeout; the next call continues.
func (s *Instruments) verify(ctx context.Context, by commands.Caller, inst instrument.State, customer string) (approval, error) {
	none := approval{}
	targets, err := s.verifiers(ctx, by, inst)
	if err != nil {
		return none, err
	}
	deadline := due.In(s.Store.Now(), s.PaymentTimeout)
	command := instrument.Verify{CustomerID: customer}
	var asked instrument.Verification
	var answer processor.Answer
	for next := 0; next < len(targets); {
		command.Target = targets[next]
		tip, err := commands.Request(ctx, s.Base, by, s.Log.Instruments.Execute, inst.Token, func(state instrument.State, at time.Time) (instrument.Event, error) {
			command.At = at
			return instrument.DecideVerify(state, command)
		})
		if err != nil || tip.State.Verification == nil {
			return none, err
		}
		asked = *tip.State.Verification
		answer, err = s.verified(ctx, tip.State, tip.Appended, deadline)
		switch {
		case err != nil:
			return none, err
		case answer.State == processor.Succeeded:
			return approval{asked.Revision, secrets.CardToken{Processor: asked.Processor, MerchantID: asked.MerchantID, Token: answer.CardToken}}, nil
		case answer.State == processor.Failed && answer.Retryable:
			command.Instead = asked.Revision
			if tip.Appended {
				next++
				break
			}
			// The request is of an earlier call: its processor may have left the route, or have
			// another place in it.
			index := slices.IndexFunc(targets, func(t instrument.Verification) bool { return t.Processor == asked.Processor })
			if index >= 0 {
				targets = slices.Delete(targets, index, index+1)
			}
			if 0 <= index && index < next {
				next--
			}
		default:
			return none, s.refute(ctx, by, inst, asked, answer)
		}
	}
	return none, s.refute(ctx, by, inst, asked, answer) // no processor could verify the card
}

// verifiers returns the processors that the account's rules choose for zero in the session's
// currency (D15).
func (s *Instruments) verifiers(ctx context.Context, by commands.Caller, inst instrument.State) ([]instrument.Verification, error) {
	merchant, err := s.Merchant(by)
	if err != nil {
		return nil, err
	}
	tip, err := s.Log.Sessions.Load(ctx, by.Account, inst.Session, eventstore.Applied)
	if err != nil {
		return nil, err
	}
	currency := cmp.Or(tip.State.Currency, "EUR") // a session may have none
	var targets []instrument.Verification
	facts := account.RouteFacts{Currency: currency, Network: inst.Card.Network}
	for _, p := range s.Route(merchant, facts) {
		if !inst.PaysAt(p.Name) {
			continue
		}
		targets = append(targets, instrument.Verification{Processor: p.Name, MerchantID: p.MerchantID, Currency: currency})
	}
	if len(targets) == 0 {
		err := domain.Refuse(domain.KindConflict, domain.ReasonPayment, "The payment method cannot be verified: no processor is enabled.")
		err.Err, err.Recovery = payment.ErrNoProcessor, domain.EnableProcessor
		return nil, s.NoRoute(merchant, facts, err)
	}
	return targets, nil
}

// verified sends the request, and asks for its outcome until the processor has one.
func (s *Instruments) verified(ctx context.Context, inst instrument.State, send bool, deadline due.Time) (processor.Answer, error) {
	request := inst.Verification
	reference := domain.VerificationReference(inst.Account, inst.Token)
	op := processor.Operation{
		Kind: processor.Authorize, Key: domain.OperationKey(string(reference) + "." + strconv.FormatUint(request.Revision, 10)),
		Processor: request.Processor, MerchantID: request.MerchantID, Reference: reference, Currency: request.Currency,
		AuthorizationType: "FINAL", Tokenize: true,
	}
	ctx, cancel := context.WithTimeout(ctx, deadline.Left(s.Store.Now()))
	defer cancel()
	defer context.AfterFunc(s.Life, cancel)() // Close
	defer commands.AsideLater(ctx)()
	for asked := 0; ; asked++ {
		answer, known, err := s.askVerifier(ctx, inst, op, send)
		if known && answer.State != processor.Pending {
			return answer, nil
		}
		send = false
		select {
		case <-time.After(process.NextInterval(asked)):
			continue
		case <-ctx.Done():
		case <-s.Draining:
		}
		return answer, stillVerifying(err)
	}
}

// askVerifier sends the request, or asks for its outcome and sends it again under its key if it
// never arrived: it moves no money.
func (s *Instruments) askVerifier(ctx context.Context, inst instrument.State, op processor.Operation, send bool) (processor.Answer, bool, error) {
	if !send {
		found, err := s.Processors.Lookup(ctx, op.Processor, op.Key)
		if err != nil || found.State != processor.Unseen {
			if found.Answer == nil {
				return processor.Answer{}, false, err
			}
			if why := op.Unfit(*found.Answer); why != "" && err == nil {
				s.NoteUnfit(op.Processor, op.Key, why)
				err = fmt.Errorf("%w: the answer does not fit the request: %s", processor.ErrUnknown, why)
			}
			return *found.Answer, err == nil, err
		}
	}
	card, err := s.Secrets.Card(ctx, CardRef(inst), s.Store.Now())
	if err != nil {
		return processor.Answer{}, false, err
	}
	op.Card = &card
	answer, err := s.Processors.Send(ctx, op)
	return answer, err == nil, err
}

func stillVerifying(err error) error {
	unknown := domain.OutcomeUnknown(fmt.Errorf("verification without an outcome: %w", errors.Join(processor.ErrUnknown, err)))
	unknown.Message, unknown.Recovery = "The processor has not said yet whether the payment method is good.", "Repeat the request."
	return unknown
}

// refute records the negative result. If another call has requested a verification meanwhile, that
// one decides.
func (s *Instruments) refute(ctx context.Context, by commands.Caller, inst instrument.State, asked instrument.Verification, answer processor.Answer) error {
	tip, err := commands.Follow(ctx, s.Base, by, s.Log.Instruments.Execute, inst.Token, func(state instrument.State, at time.Time) (instrument.Event, error) {
		return instrument.DecideFailVerification(state, instrument.FailVerification{At: at, Request: asked.Revision, Code: answer.Code, Message: answer.Message})
	})
	if err != nil {
		return err
	}
	if tip.State.Good() {
		return stillVerifying(nil)
	}
	s.Discard(CardRef(inst))
	return instrument.NotVerified()
}
