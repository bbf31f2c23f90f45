package payments

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/instruments"
	"payledger/eventstore/commands/sessions"
	"payledger/eventstore/secrets"
)

// Payments carries out the commands of payments.
type Payments struct {
	*commands.Base
	sessions    *sessions.Sessions
	instruments *instruments.Instruments
	inFlight    inFlightOperations
	doubts      *doubts
	locks       changeLocks
	changed     func(domain.PaymentID) // called after a creation or an answer
}

// New returns the commands of payments. Start must follow.
func New(b *commands.Base, s *sessions.Sessions, i *instruments.Instruments) *Payments {
	return &Payments{Base: b, sessions: s, instruments: i, inFlight: newInFlightOperations(), doubts: newDoubts(), locks: changeLocks{byKey: map[eventstore.Key]*changeLock{}}}
}

// Start starts the background work. changed is called after each new event of a payment that can
// let a notification pass.
func (s *Payments) Start(changed func(domain.PaymentID)) {
	s.changed = changed
	s.Go(s.destroyCards)
	s.Go(s.runSchedule)
	s.Go(s.keepDoubts)
}

// PaymentInput is a validated request for a payment (D5.1). The token's session supplies the
// missing fields.
type PaymentInput struct {
	Token          domain.Token
	Session        domain.SessionID // of the checkout in the browser (D12); "" for a merchant's request
	OrderID        string
	CustomerID     string
	Currency       domain.Currency
	Amount         *domain.Amount
	Order          *domain.Order
	Customer       *domain.Customer
	Metadata       domain.Metadata
	Method         session.Method
	IdempotencyKey string        // "": none was sent
	Shown          *domain.Price // the price that the customer saw in a checkout; nil: unknown
}

// CreatePayment creates a payment and waits for its authorization, at most until the payment
// timeout (D5.6, D8). A refusal by the processor is an outcome of the payment, not an error.
func (s *Payments) CreatePayment(ctx context.Context, by commands.Caller, in PaymentInput) (payment.State, error) {
	deadline := s.fromNow()
	if in.Session != "" && in.IdempotencyKey != "" {
		in.IdempotencyKey = sessionKey(in.Session, in.IdempotencyKey)
	}
	if in.IdempotencyKey != "" {
		id := domain.PaymentIDForKey(by.Account, in.IdempotencyKey)
		if tip, known := s.Log.Payments.Remembered(by.Account, id); known {
			return payment.State{}, s.usedKey(ctx, tip.State, in) // a repeat is usually refused here, without a load
		}
	}
	c := &creation{PaymentInput: in}
	tip, err := s.createRecord(ctx, by, c)
	if err != nil {
		return payment.State{}, s.addEarlierPayment(ctx, by.Account, c, err)
	}
	return s.await(ctx, s.launch(tip, tip.State.Revision, sendFirst), deadline), nil
}

func (s *Payments) createRecord(ctx context.Context, by commands.Caller, c *creation) (eventstore.Tip[payment.State], error) {
	none := eventstore.Tip[payment.State]{}
	command, err := commands.Retry(func() (payment.Create, bool, error) {
		command, err := s.assemble(ctx, by, c)
		if err == nil {
			ctx = context.WithoutCancel(ctx) // commit point: the work continues even if the caller disconnects
			err = s.claimCheckout(ctx, by, c)
		}
		return command, errors.Is(err, session.ErrChanged), err
	})
	if err == nil {
		err = s.claimToken(ctx, by, c, command.Method.Vaulted)
	}
	if err != nil {
		return none, s.preferKeyError(ctx, by.Account, c.PaymentInput, err)
	}
	tip, err := commands.Request(ctx, s.Base, by, s.Log.Payments.ExecuteNew, c.id, func(state payment.State, at time.Time) (payment.Event, error) {
		if c.approval != nil && state.Exists() {
			return nil, nil // another approval created it
		}
		command.At = at
		return payment.DecideCreate(state, command)
	})
	if err == nil && tip.Appended {
		s.changed(c.id)
	}
	s.noteDoubt(by.Account, c.id, err)
	return tip, s.addOwnerStatus(ctx, by.Account, err)
}

// sessionKey returns the key for a browser's idempotency key in its session (D12). Its spaces tell
// it from a merchant's key (D9).
func sessionKey(id domain.SessionID, key string) string { return "checkout " + string(id) + " " + key }

// preferKeyError returns the error of a used key, else refusal (D3): the first request with the key
// may have used the token.
func (s *Payments) preferKeyError(ctx context.Context, account domain.AccountID, in PaymentInput, refusal error) error {
	if in.IdempotencyKey == "" {
		return refusal
	}
	tip, err := s.Log.Payments.Load(ctx, account, domain.PaymentIDForKey(account, in.IdempotencyKey), eventstore.Latest)
	switch {
	case err != nil: // an earlier request with the key may be recorded
		return domain.OutcomeUnknown(err)
	case tip.Recorded == nil:
		return refusal
	}
	return s.usedKey(ctx, tip.State, in)
}

// usedKey refuses a used key. found is the state at the id derived from the key.
func (s *Payments) usedKey(ctx context.Context, found payment.State, in PaymentInput) error {
	_, err := payment.DecideCreate(found, payment.Create{IdempotencyKey: in.IdempotencyKey})
	return s.addOwnerStatus(ctx, found.Account, err)
}

// assemble combines request, session and instrument (D5.1), and refuses before anything is
// recorded.
func (s *Payments) assemble(ctx context.Context, by commands.Caller, in *creation) (payment.Create, error) {
	var none payment.Create
	inst, from, err := s.payWith(ctx, by.Account, in)
	if err != nil {
		return none, err
	}
	in.from = from.Fields
	merchant, err := s.Merchant(by)
	if err != nil {
		return none, err
	}
	c := payment.Create{
		At: s.Store.Now(), ID: in.id, Account: by.Account, IdempotencyKey: in.IdempotencyKey, Session: from.ID,
		OrderID:     cmp.Or(in.OrderID, from.OrderID),
		CustomerID:  cmp.Or(in.CustomerID, from.CustomerID),
		Currency:    cmp.Or(in.Currency, from.Currency),
		Amount:      in.Amount,
		Order:       domain.MergeOrder(from.Order, in.Order),
		Metadata:    domain.MergeMetadata(from.Metadata, in.Metadata),
		Method:      method(in, inst, from.Method),
		Preferences: preferences(in.Method.Preferences, from.Method.Preferences),
	}
	if c.Amount == nil {
		if c.Amount = from.Total(); c.Amount != nil && from.Currency != c.Currency { // D22.3: an amount keeps its currency
			return none, domain.InvalidAt("PaymentCreation", "$.currencyCode",
				"must be %s, the currency of the session's amount, or be sent with an amount", from.Currency)
		}
	}
	facts := routeFacts(c)
	c.Route, c.AutoCapture = targets(s.Route(merchant, facts)), merchant.Settings.AutoCapture()
	if _, err := payment.DecideCreate(payment.State{}, c); err != nil {
		return none, s.NoRoute(merchant, facts, err)
	}
	c.Route = slices.DeleteFunc(c.Route, func(t payment.Target) bool { return !inst.PaysAt(t.Processor) })
	if len(c.Route) == 0 {
		return none, noWayTo(inst.Processor)
	}
	if c.Method.Vaulted && c.CustomerID != inst.CustomerID {
		return none, cannotPay(otherCustomer) // §4 rule 3
	}
	c.Personal, err = s.personal(ctx, c, inst, from, in.Customer)
	return c, err
}

// routeFacts returns what the account's rules read of a payment (D15).
func routeFacts(c payment.Create) account.RouteFacts {
	facts := account.RouteFacts{Currency: c.Currency, Network: c.Method.Card.Network, Metadata: c.Metadata}
	if c.Amount != nil {
		facts.Amount = *c.Amount
	}
	if c.Order != nil {
		facts.CountryCode = c.Order.CountryCode
	}
	return facts
}

func targets(route []account.Processor) []payment.Target {
	var all []payment.Target
	for _, p := range route {
		all = append(all, payment.Target{Processor: p.Name, MerchantID: p.MerchantID})
	}
	return all
}

// method merges the request's payment method options over the session's (D5.1).
func method(c *creation, inst instrument.State, from session.Method) payment.Method {
	in := c.Method
	m := payment.Method{
		Token: inst.Token, Type: instrument.MethodCard, Vaulted: c.vaulted(inst), AnalyticsID: inst.AnalyticsID, Card: inst.Card, Processor: inst.Processor,
		PaymentType:        cmp.Or(in.PaymentType, from.PaymentType),
		AuthorizationType:  cmp.Or(in.AuthorizationType, from.AuthorizationType, "FINAL"),
		FirstPaymentReason: cmp.Or(in.FirstPaymentReason, from.FirstPaymentReason),
		Descriptor:         cmp.Or(in.Descriptor, from.Descriptor),
		VaultOnSuccess:     wished(in.VaultOnSuccess, from.VaultOnSuccess),
		VaultOn3DS:         wished(in.VaultOn3DS, from.VaultOn3DS),
		VaultOnAgreement:   wished(in.VaultOnAgreement, from.VaultOnAgreement),
	}
	if !m.Vaulted || inst.Fresh() || inst.UsedBy == c.id && !inst.Verified {
		m.TokenizedAt = inst.CreatedAt // the card as it was entered, with its CVV; else the vaulted one
	}
	return m
}

// wished returns the request's wish, else the session's (D5.1); false without both.
func wished(in, from *bool) bool {
	wish := cmp.Or(in, from)
	return wish != nil && *wish
}

// preferences merges the request's preferences over the session's (D5.1, D21); nil for none.
func preferences(in, from domain.Preferences) *domain.Preferences {
	from = overridden(in, from)
	if from.AllowedNetworks == nil && from.Options == "" {
		return nil
	}
	return &from
}

// overridden returns the session's preferences, overridden by the request's.
func overridden(in, from domain.Preferences) domain.Preferences {
	if in.AllowedNetworks != nil {
		from.AllowedNetworks = in.AllowedNetworks
	}
	if in.Options != "" {
		from.Options = in.Options
	}
	return from
}

// personal merges the session's and the request's customer with the cardholder's name, and seals
// them for the payment. A payment that may save its card has a sealed box even without such data:
// the number of its key shows whether the customer was erased since (vaultPaid).
func (s *Payments) personal(ctx context.Context, c payment.Create, inst instrument.State, from session.State, customer *domain.Customer) (*domain.Sealed, error) {
	ofSession, err := s.Secrets.Open(ctx, from.Personal)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	ofCard, err := s.Secrets.Open(ctx, inst.Personal)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	seal := s.Secrets.Seal
	if m := c.Method; m.VaultOnSuccess || m.VaultOn3DS || m.VaultOnAgreement {
		seal = s.Secrets.SealAlways
	}
	sealed, err := seal(ctx, secrets.PersonalKeyName(c.Account, c.CustomerID, c.Session), domain.Personal{
		Customer: domain.MergeCustomer(ofSession.Customer, customer), CardholderName: ofCard.CardholderName,
	})
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	return sealed, nil
}
