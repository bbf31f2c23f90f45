package erasures

import (
	"context"
	"net/url"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/person"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/secrets"
)

// Erasures erases persons.
type Erasures struct {
	*commands.Base
	Instruments *instruments.Instruments
}

// who names a person: the customer, or else the guest of a session.
type who struct {
	account  domain.AccountID
	customer string
	session  domain.SessionID
	payment  domain.PaymentID // of a guest: the payment whose erasure was requested
}

func (w who) key() domain.SecretID { return secrets.PersonalKeyName(w.account, w.customer, w.session) }
func (w who) id() domain.PersonID  { return domain.PersonIDFor(w.key()) }

// EraseCustomer erases a customer. It returns when the key is destroyed. A repeat changes nothing,
// unless there is new data.
func (s *Erasures) EraseCustomer(ctx context.Context, by commands.Caller, customer string) (person.State, error) {
	if customer == "" {
		return person.State{}, domain.Invalid("CustomerErasure", domain.Violation{Path: "$.customerId", Description: "must not be empty"})
	}
	return s.eraseEverywhere(ctx, by, who{account: by.Account, customer: customer})
}

// EraseGuest erases the guest who made a payment. It returns when the key is destroyed. A repeat
// changes nothing.
func (s *Erasures) EraseGuest(ctx context.Context, by commands.Caller, id domain.PaymentID) (person.State, error) {
	tip, err := s.Log.Payments.Load(ctx, by.Account, id, eventstore.Latest)
	switch p := tip.State; {
	case err != nil:
		return person.State{}, err
	case !p.Exists():
		return person.State{}, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The payment is unknown.")
	case p.CustomerID != "" || p.Session == "":
		refused := domain.Refuse(domain.KindConflict, domain.ReasonPayment, "The payment belongs to a customer, not to a guest.")
		refused.Recovery = "Erase the customer: POST /management/customers/" + url.PathEscape(p.CustomerID) + "/erase."
		return person.State{}, refused
	default:
		return s.eraseEverywhere(ctx, by, who{account: by.Account, session: p.Session, payment: id})
	}
}

// eraseEverywhere erases a person, and returns when no node shows the person's data any more.
func (s *Erasures) eraseEverywhere(ctx context.Context, by commands.Caller, w who) (person.State, error) {
	state, err := s.erase(ctx, by, w)
	if err == nil { // a repeat waits, too: the first call may have failed here
		err = s.AllAppliedEverywhere(context.WithoutCancel(ctx))
	}
	return state, err
}

func (s *Erasures) erase(ctx context.Context, by commands.Caller, w who) (person.State, error) {
	tip, err := s.Log.Persons.Load(ctx, w.account, w.id(), eventstore.Latest)
	if err != nil {
		return tip.State, err
	}
	ctx = context.WithoutCancel(ctx) // commit point: the work continues even if the caller disconnects
	if tip.State.Due() {
		if tip.State, err = s.finish(ctx, by, tip.State, always); err != nil {
			return tip.State, err
		}
	}
	left, err := s.left(ctx, w, tip.State)
	switch {
	case err != nil:
		return tip.State, err
	case !left.known && !tip.State.Exists():
		return tip.State, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound,
			"The customer is unknown: no client session, payment or saved card has this customerId.")
	case !left.data && tip.State.Exists():
		return tip.State, nil
	}
	tip, err = commands.Request(ctx, s.Base, by, s.Log.Persons.Execute, w.id(), func(state person.State, at time.Time) (person.Event, error) {
		return person.DecideErase(state, person.Erase{
			At: at, ID: w.id(), Account: w.account, CustomerID: w.customer, Session: w.session, Payment: w.payment,
		})
	})
	if err != nil {
		return tip.State, err
	}
	return s.finish(ctx, by, tip.State, always)
}

// remains is what an erasure finds of a person.
type remains struct {
	data  bool // not erased yet
	known bool // there was data once, or there is
}

func (s *Erasures) left(ctx context.Context, w who, state person.State) (found remains, err error) {
	found.data, err = s.Secrets.HasKey(ctx, w.key(), state.Number())
	if err != nil {
		return remains{}, domain.Unavailable(err)
	}
	if w.customer == "" {
		found.known = true
		return found, nil
	}
	sessions, known, err := s.guests(ctx, w, always)
	if err != nil {
		return remains{}, err
	}
	cards, err := s.Customers.Instruments(ctx, w.account, w.customer)
	found.data = found.data || len(sessions) > 0 || slices.ContainsFunc(cards, instrument.State.Good)
	found.known = known || found.data
	return found, err
}

// finish carries out a recorded erasure, from any point of it. If it is finished, only the erased
// keys are destroyed again.
func (s *Erasures) finish(ctx context.Context, by commands.Caller, state person.State, belongs func(time.Time, person.State) bool) (person.State, error) {
	w := who{account: state.Account, customer: state.CustomerID, session: state.Session}
	var cards []secrets.CardRef
	if state.Due() {
		s.Secrets.Forget(w.key(), state.Erased)
		var err error
		if cards, err = s.eraseRest(ctx, by, w, belongs); err != nil {
			return state, pending(err)
		}
	}
	if err := s.Secrets.DestroyPersons(ctx, []secrets.PersonKeys{{Name: w.key(), Through: state.Erased}}); err != nil {
		return state, pending(err)
	}
	if len(cards) > 0 { // without the key, all of them are removed at once
		if err := s.Secrets.DestroyKept(ctx, cards...); err != nil {
			return state, pending(err)
		}
	}
	if !state.Due() {
		return state, nil
	}
	now, err := s.destroyed(ctx, by, w, state.Erased)
	if err != nil {
		return state, pending(err)
	}
	return now, nil
}

// FinishErasure continues a recorded erasure. If it is finished, this is usually a look at an
// index: the erased keys are gone.
func (s *Erasures) FinishErasure(ctx context.Context, account domain.AccountID, id domain.PersonID) error {
	tip, err := s.Log.Persons.Load(ctx, account, id, eventstore.Latest)
	if err != nil || !tip.State.Exists() {
		return err
	}
	_, err = s.finish(ctx, commands.Caller{Account: account, Actor: "process:erasure", RequestID: string(id)}, tip.State, until(tip.State.ErasedAt))
	return err
}

func pending(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable,
		Message:  "The erasure is recorded, but the key is not destroyed yet. The service continues by itself.",
		Recovery: "Repeat the request: it answers when the key is destroyed.", Err: err,
	}
}
