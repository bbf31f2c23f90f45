package payments

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/instruments"
)

type creation struct {
	PaymentInput
	id       domain.PaymentID // "" until the instrument is loaded
	approval *Approval        // nil: no approval was required
	from     session.Fields   // of the client session that the payment was made from
	claimed  bool             // the vaulted token needs no event about its use
	lost     domain.PaymentID // it claimed the token, and was created with another one; "" for none
}

// vaulted reports whether the token counts as vaulted. A token that was vaulted after the approval
// does not.
func (c creation) vaulted(inst instrument.State) bool {
	if c.approval != nil {
		return inst.VaultedBy(c.approval.At)
	}
	return inst.Vaulted()
}

// identify derives the payment's id, so that a repeated request has the same id (D9, D12). A
// merchant's payment with a vaulted token and without a key has a new id each time.
func (s *Payments) identify(account domain.AccountID, c *creation, inst instrument.State) error {
	switch {
	case c.approval != nil: // derived from the attempt
	case c.IdempotencyKey != "":
		c.id = domain.PaymentIDForKey(account, c.IdempotencyKey)
	case !inst.Vaulted():
		c.id = domain.PaymentIDForToken(account, c.Token)
	case c.Session != "":
		c.id = domain.PaymentIDForSession(account, c.Session, c.Token)
	default:
		random, err := s.Random16()
		if err != nil {
			return err
		}
		c.id = domain.NewPaymentID(random)
	}
	return nil
}

// payWith loads the instrument and the client session of the payment, and refuses a token that
// cannot pay. The session is empty for a merchant's payment with a vaulted token (§4 rule 3).
func (s *Payments) payWith(ctx context.Context, account domain.AccountID, c *creation) (inst instrument.State, from session.State, err error) {
	if inst, err = s.payable(ctx, account, c); err != nil {
		return inst, from, err
	}
	vaulted := c.vaulted(inst)
	switch {
	case c.approval != nil:
		from = c.approval.Session
	case c.Session != "":
		from, err = s.sessions.Session(ctx, account, c.Session)
	case !vaulted:
		var tip eventstore.Tip[session.State]
		tip, err = s.Log.Sessions.Load(ctx, account, inst.Session, eventstore.Latest)
		from = tip.State
	}
	preferences := overridden(c.Method.Preferences, from.Method.Preferences)
	switch {
	case err != nil:
		return inst, from, err
	case !preferences.Takes(inst.Card.Network): // a saved card, or changed networks
		err = cannotPay("its card is of " + string(inst.Card.Network) + ", and the networks allowed are " + instruments.Listed(preferences.AllowedNetworks))
	case from.ApprovalMode == session.ApprovalManual && c.approval == nil:
		refused := cannotPay("its client session asks for the approval of a payment attempt")
		refused.Recovery = "Create a payment attempt from the customer's browser, and approve it: POST /payment-attempts, POST /payment-attempts/{id}/approve."
		err = refused
	case c.Session != "" && !vaulted && inst.Session != c.Session:
		err = cannotPay("the payment method token is of another client session")
	case c.Session != "" && vaulted && inst.CustomerID != from.CustomerID:
		err = cannotPay(otherCustomer)
	case !AsShown(c.Shown, from):
		err = domain.Refuse(domain.KindConflict, domain.ReasonAmountChanged,
			"The client session asks for another amount or currency than the customer was shown.")
	}
	return inst, from, err
}

// AsShown reports whether the session's price equals the price that the customer saw (D12).
func AsShown(shown *domain.Price, from session.State) bool {
	total := from.Total()
	return shown == nil || total != nil && *shown == domain.Price{Amount: *total, Currency: from.Currency}
}

// payable loads the instrument and derives the payment's id. It refuses only on the Latest state: a
// replica may lag. A deletion is acknowledged when every node has applied it, so that a token which
// is usable here, under the lease, has not been deleted.
func (s *Payments) payable(ctx context.Context, account domain.AccountID, c *creation) (instrument.State, error) {
	use := func(tip eventstore.Tip[instrument.State], err error) (instrument.State, error) {
		if err == nil {
			err = s.identify(account, c, tip.State)
		}
		if err == nil {
			if c.lost = ""; tip.State.UsedBy != c.id && !tip.State.Vaulted() {
				c.lost = s.lostClaim(ctx, tip.State)
			}
			var event instrument.Event
			event, err = instrument.DecideUse(tip.State, s.use(c))
			c.claimed = err == nil && event == nil && c.vaulted(tip.State)
		}
		return tip.State, err
	}
	inst, err := use(s.Log.Instruments.Load(ctx, account, c.Token, eventstore.Leased))
	if err != nil {
		inst, err = use(s.Log.Instruments.Load(ctx, account, c.Token, eventstore.Latest))
	}
	return inst, err
}

func (s *Payments) use(c *creation) instrument.Use {
	use := instrument.Use{At: s.Store.Now(), Payment: c.id, Instead: c.lost}
	if c.approval != nil {
		use.At = c.approval.At
	}
	return use
}

// claimToken records that the payment uses the token. No other payment can use it then, unless it
// is vaulted.
func (s *Payments) claimToken(ctx context.Context, by commands.Caller, c *creation, vaulted bool) error {
	if c.claimed {
		return nil
	}
	_, err := commands.Request(ctx, s.Base, by, s.Log.Instruments.Execute, c.Token, func(state instrument.State, _ time.Time) (instrument.Event, error) {
		if c.vaulted(state) != vaulted { // vaulted or deleted meanwhile: other rules apply
			return nil, eventstore.Overtaken()
		}
		return instrument.DecideUse(state, s.use(c))
	})
	return err
}

// lostClaim returns the payment that claimed the token but was created with another token; "" if
// there is none. It loads the Latest state: a payment that is not there yet may still use the
// token.
func (s *Payments) lostClaim(ctx context.Context, inst instrument.State) domain.PaymentID {
	if inst.UsedBy == "" {
		return ""
	}
	tip, err := s.Log.Payments.Load(ctx, inst.Account, inst.UsedBy, eventstore.Latest)
	if err != nil || tip.Recorded == nil || tip.State.Exists() && tip.State.Method.Token == inst.Token {
		return ""
	}
	return inst.UsedBy
}

// noWayTo refuses a payment with a token of a processor to which the account's rules do not lead.
// Another processor cannot charge the card.
func noWayTo(name processor.Name) error {
	err := cannotPay("its payment method is a token of " + string(name) + ", and the account's routing does not lead there")
	err.Err = payment.ErrElsewhere
	err.Recovery = "Enable " + string(name) + " and name it in the routing of such payments, or let the customer enter the card: POST /payment-instruments with paymentInstrument."
	return err
}

const otherCustomer = "the payment method token is tied to another customerId"

func cannotPay(why string) *domain.Error {
	return domain.Refuse(domain.KindConflict, domain.ReasonPayment, "The payment cannot be created: %s.", why)
}

// addEarlierPayment adds the earlier payment of the checkout, or of a single-use token, to the
// refusal of a token: the answer about it may have been lost, and it may still charge the customer
// (D12). If no processor takes the token, it is the session's payment that may charge, before one
// of the token that may have ended unpaid.
func (s *Payments) addEarlierPayment(ctx context.Context, account domain.AccountID, c *creation, err error) error {
	refused, is := errors.AsType[*domain.Error](err)
	// It was refused before the token and the session were looked at.
	noWay := errors.Is(err, payment.ErrNoProcessor) || errors.Is(err, payment.ErrElsewhere)
	if !is || refused.Reason != domain.ReasonPayment || refused.Payment != "" || refused.Recovery != "" && !noWay {
		return err
	}
	inst, loadErr := s.Log.Instruments.Load(ctx, account, c.Token, eventstore.Applied)
	if loadErr != nil {
		return loadErr
	}
	if c.Session == "" && inst.State.Vaulted() {
		return err // it may pay often
	}
	var p payment.State
	if noWay && c.Session != "" {
		p, loadErr = s.livePayment(ctx, account, c.Session)
	}
	if loadErr == nil && !p.Exists() {
		p, loadErr = s.paymentOf(ctx, account, c, inst.State)
	}
	switch {
	case loadErr != nil:
		return loadErr
	case p.Exists():
		return naming(*refused, p)
	case !noWay && c.Session == "" && inst.State.UsedBy != "":
		unrecorded := *refused
		unrecorded.Recovery = "The first request with this token has no payment yet. Repeat that request, with its X-Idempotency-Key if it had one. Use another token only if that request is never repeated."
		return &unrecorded
	}
	return err
}

// livePayment returns the payment of a client session, with whatever token, if it may charge the
// customer; else the zero state.
func (s *Payments) livePayment(ctx context.Context, account domain.AccountID, id domain.SessionID) (payment.State, error) {
	from, err := s.Log.Sessions.Load(ctx, account, id, eventstore.Latest)
	if err != nil || from.State.Payment == "" {
		return payment.State{}, err
	}
	p, err := s.loadEffective(ctx, account, from.State.Payment)
	if err != nil || p.Session != id || p.EndedUnpaid() {
		return payment.State{}, err
	}
	return p, nil
}

// paymentOf returns the payment with a single-use token in its checkout; the zero state if there is
// none.
func (s *Payments) paymentOf(ctx context.Context, account domain.AccountID, c *creation, inst instrument.State) (payment.State, error) {
	for _, made := range []domain.PaymentID{c.id, inst.UsedBy} {
		if made == "" {
			continue
		}
		p, err := s.loadEffective(ctx, account, made)
		if err != nil || p.Exists() && (c.Session == "" || p.Session == c.Session) && (p.Method.Token == c.Token || p.ID != made) {
			return p, err
		}
	}
	return payment.State{}, nil
}

// loadEffective loads a payment. If its id was given up, it loads the payment that was created
// instead (D12).
func (s *Payments) loadEffective(ctx context.Context, account domain.AccountID, id domain.PaymentID) (payment.State, error) {
	tip, err := s.Log.Payments.Load(ctx, account, id, eventstore.Latest)
	if claim := tip.State.Claim; err == nil && claim != nil && claim.Payment != "" {
		tip, err = s.Log.Payments.Load(ctx, account, claim.Payment, eventstore.Latest)
	}
	return tip.State, err
}

// SessionPaid refuses another payment in the client session of a payment.
func SessionPaid(paid payment.State) error {
	return naming(*cannotPay("its client session has a payment already"), paid)
}

// naming adds an earlier payment to a refusal. Another payment beside it would charge the customer
// twice, unless it ended unpaid.
func naming(refused domain.Error, p payment.State) error {
	refused.Payment, refused.Status = p.ID, string(p.Status())
	if !p.EndedUnpaid() { // else the advice is that about any other token that cannot pay
		refused.Recovery = "Read the payment that paymentId names. Do not create another one while it may charge the customer."
	}
	return &refused
}
