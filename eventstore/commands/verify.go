package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/due"
)

// verifyCurrency is the verification currency of a session without a currency.
const verifyCurrency = "EUR"

// verify requests an authorization of zero from the processors of the route, one after the other (D5.11). It returns
// the revision of the approved request. It looks an unknown outcome up by the request's key until the payment timeout;
// the next call continues.
func (s *Service) verify(ctx context.Context, by Caller, inst instrument.State, customer string) (uint64, error) {
	targets, err := s.verifiers(ctx, by.Account, inst)
	if err != nil {
		return 0, err
	}
	deadline := s.fromNow()
	command := instrument.Verify{CustomerID: customer}
	for i := 0; i < len(targets); i++ {
		command.Target = targets[i]
		tip, err := s.requestVerification(ctx, by, inst.Token, command)
		if err != nil || tip.State.Verification == nil {
			return 0, err
		}
		asked := *tip.State.Verification
		answer, err := s.verified(ctx, tip.State, tip.Appended, deadline)
		switch {
		case err != nil:
			return 0, err
		case answer.State == processor.Succeeded:
			return asked.Revision, nil
		case answer.State == processor.Failed && answer.Retryable:
			command.Instead, i = asked.Revision, max(i, indexOf(targets, asked.Processor))
		default:
			return 0, s.refute(ctx, by, inst, asked, answer)
		}
	}
	return 0, domain.OutcomeUnknown(errors.New("no processor could verify the card"))
}

// verifiers returns the processors that the account's rules choose for an amount of zero in the session's currency
// (D15).
func (s *Service) verifiers(ctx context.Context, owner domain.AccountID, inst instrument.State) ([]instrument.Verification, error) {
	merchant, known := s.Account(owner)
	if !known {
		return nil, domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The account is not known.")
	}
	tip, err := s.log.Sessions.Load(ctx, owner, inst.Session, eventstore.AllowStale)
	if err != nil {
		return nil, err
	}
	currency := cmp.Or(tip.State.Currency, verifyCurrency)
	var targets []instrument.Verification
	for _, p := range merchant.Route(account.RouteFacts{Currency: currency, Network: inst.Card.Network}) {
		targets = append(targets, instrument.Verification{Processor: p.Name, MerchantID: p.MerchantID, Currency: currency})
	}
	if len(targets) == 0 {
		return nil, cannotPay("no processor is enabled")
	}
	return targets, nil
}

func indexOf(targets []instrument.Verification, name processor.Name) int {
	for i, t := range targets {
		if t.Processor == name {
			return i
		}
	}
	return -1
}

func (s *Service) requestVerification(ctx context.Context, by Caller, token domain.Token, command instrument.Verify) (eventstore.Tip[instrument.State], error) {
	meta, err := s.request(by)
	if err != nil {
		return eventstore.Tip[instrument.State]{}, err
	}
	command.At = meta.At
	return s.log.Instruments.Execute(ctx, by.Account, token, meta,
		func(state instrument.State) (instrument.Event, error) { return instrument.DecideVerify(state, command) })
}

// verified sends the request, and asks for its outcome until the processor has one.
func (s *Service) verified(ctx context.Context, inst instrument.State, send bool, deadline due.Time) (processor.Answer, error) {
	disposed := inst.Verification
	reference := domain.VerificationReference(inst.Account, inst.Token)
	op := processor.Operation{
		Kind: processor.Authorize, Key: domain.OperationKey(string(reference) + "." + strconv.FormatUint(disposed.Revision, 10)),
		Processor: disposed.Processor, MerchantID: disposed.MerchantID, Reference: reference, Currency: disposed.Currency,
		AuthorizationType: "FINAL",
	}
	ctx, cancel := context.WithTimeout(ctx, deadline.Left(s.Store.Now()))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)() // Close
	defer asideLater(ctx)()
	for asked := 0; ; asked++ {
		answer, known, err := s.askVerifier(ctx, inst, op, send)
		if known && answer.State != processor.Pending {
			return answer, nil
		}
		send = false
		again := time.NewTimer(process.NextInterval(asked))
		select {
		case <-again.C:
			continue
		case <-ctx.Done():
		case <-s.drain:
		}
		again.Stop()
		return answer, stillVerifying(err)
	}
}

// askVerifier sends the request, or asks for its outcome and sends it again if it never arrived. It moves no money, so
// sending it again under its key is safe.
func (s *Service) askVerifier(ctx context.Context, inst instrument.State, op processor.Operation, send bool) (processor.Answer, bool, error) {
	if !send {
		found, err := s.Processors.Lookup(ctx, op.Processor, op.Key)
		if err != nil || found.State != processor.Unseen {
			return answerOf(found), found.Answer != nil, err
		}
	}
	card, err := s.Secrets.Card(ctx, cardRef(inst), s.Store.Now())
	if err != nil {
		return processor.Answer{}, false, err
	}
	op.Card = &card
	answer, err := s.Processors.Send(ctx, op)
	return answer, err == nil, err
}

func answerOf(found processor.Lookup) processor.Answer {
	if found.Answer == nil {
		return processor.Answer{}
	}
	return *found.Answer
}

func stillVerifying(err error) error {
	payload := domain.OutcomeUnknown(fmt.Errorf("verification without an outcome: %w", errors.Join(processor.ErrUnknown, err)))
	payload.Message, payload.Recovery = "The processor has not said yet whether the payment method is good.", "Repeat the request."
	return payload
}

// refute records that the card failed the verification, and ends the token.
func (s *Service) refute(ctx context.Context, by Caller, inst instrument.State, asked instrument.Verification, answer processor.Answer) error {
	meta, err := s.Store.NewMeta(by.Actor, by.RequestID)
	if err != nil {
		return err
	}
	refuted := instrument.FailVerification{At: meta.At, Request: asked.Revision, Code: answer.Code, Message: answer.Message}
	_, err = s.log.Instruments.Execute(ctx, by.Account, inst.Token, meta,
		func(state instrument.State) (instrument.Event, error) {
			return instrument.DecideFailVerification(state, refuted)
		})
	if err != nil {
		return err
	}
	s.discard(cardRef(inst))
	return instrument.NotVerified()
}

// changeInstrument records the event that decide returns, if any.
func (s *Service) changeInstrument(ctx context.Context, by Caller, token domain.Token, decide func(instrument.State, time.Time) (instrument.Event, error)) (instrument.State, error) {
	meta, err := s.request(by)
	if err != nil {
		return instrument.State{}, err
	}
	tip, err := s.log.Instruments.Execute(ctx, by.Account, token, meta,
		func(state instrument.State) (instrument.Event, error) { return decide(state, meta.At) })
	return tip.State, err
}
