package commands

import (
	"cmp"
	"context"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
)

// CreatePayment makes a payment and waits for its authorization, at most until the payment timeout (D5,
// D8). The answer is the payment as it then stands, whatever the processor said.
func (s *Service) CreatePayment(ctx context.Context, by Caller, in PaymentInput) (payment.State, error) {
	began, id := s.Store.Now(), paymentID(by.Account, in)
	key := eventstore.Payments.Key(by.Account, string(id))
	if tip, known := eventstore.Remembered(s.Store, eventstore.Payments, key); known && in.IdempotencyKey != "" {
		return payment.State{}, s.usedKey(ctx, tip.State, in) // the usual repeat, before it costs anything
	}
	command, err := s.assemble(ctx, by, id, in)
	if err == nil {
		ctx = context.WithoutCancel(ctx) // what may have been recorded is carried out, whether or not the caller is still there
		err = s.claimToken(ctx, by, in.Token, id)
	}
	if err != nil {
		return payment.State{}, s.keyFirst(ctx, key, in, err)
	}
	meta, err := s.request(by)
	if err != nil {
		return payment.State{}, err
	}
	command.At = meta.At
	tip, err := eventstore.ExecuteNew(ctx, s.Store, eventstore.Payments, key, meta,
		func(state payment.State) (payment.Event, error) { return payment.DecideCreate(state, command) })
	if err != nil {
		return payment.State{}, s.ofOwner(ctx, by.Account, err)
	}
	return s.await(s.launch(tip, tip.State.Revision, sendFirst), began.Add(s.PaymentTimeout)), nil
}

// paymentID derives the id, so that a repeat of the request meets the same payment: from the key, or from
// the token that pays (D9).
func paymentID(account domain.AccountID, in PaymentInput) domain.PaymentID {
	if in.IdempotencyKey != "" {
		return domain.PaymentIDForKey(account, in.IdempotencyKey)
	}
	return domain.PaymentIDForToken(account, in.Token)
}

// keyFirst gives the refusal that comes first (D3): that of a key which was used, before whatever else is
// wrong by now; the first request may have used up the token. A key that is all right is found out by the
// payment's own first append, so nobody looks before.
func (s *Service) keyFirst(ctx context.Context, key eventstore.Key, in PaymentInput, refusal error) error {
	if in.IdempotencyKey == "" {
		return refusal
	}
	tip, err := eventstore.LoadTipAtLeader(ctx, s.Store, eventstore.Payments, key)
	if err != nil || tip.Recorded == nil {
		return cmp.Or(err, refusal)
	}
	return s.usedKey(ctx, tip.State, in)
}

// usedKey refuses the key of a request, given what stands at the id that it derives.
func (s *Service) usedKey(ctx context.Context, found payment.State, in PaymentInput) error {
	_, err := payment.DecideCreate(found, payment.Create{IdempotencyKey: in.IdempotencyKey})
	return s.ofOwner(ctx, found.Account, err)
}

// assemble adds up request, session and instrument (D5), and refuses what can be refused before anything
// is recorded.
func (s *Service) assemble(ctx context.Context, by Caller, id domain.PaymentID, in PaymentInput) (payment.Create, error) {
	var none payment.Create
	tool, from, err := s.payWith(ctx, by.Account, in.Token, id)
	if err != nil {
		return none, err
	}
	merchant, known := s.Account(by.Account)
	if !known {
		return none, domain.Refuse(domain.KindUnauthorized, domain.ReasonUnauthorized, "The account is not known.")
	}
	c := payment.Create{
		At: s.Store.Now(), ID: id, Account: by.Account, IdempotencyKey: in.IdempotencyKey, Session: from.ID,
		OrderID:    domain.FirstNonEmpty(in.OrderID, from.OrderID),
		CustomerID: domain.FirstNonEmpty(in.CustomerID, from.CustomerID),
		Currency:   domain.FirstNonEmpty(in.Currency, from.Currency),
		Amount:     in.Amount,
		Order:      domain.MergeOrder(from.Order, in.Order),
		Metadata:   domain.MergeMetadata(from.Metadata, in.Metadata),
		Method:     method(tool, from.Method, in.Method),
	}
	if c.Amount == nil {
		c.Amount = from.Total()
	}
	c.Route, c.AutoCapture = route(merchant, c), merchant.Settings.AutoCapture()
	if _, err := payment.DecideCreate(payment.State{}, c); err != nil {
		return none, err
	}
	c.Personal, err = s.personal(ctx, c, tool, from, in.Customer)
	return c, err
}

// route lists the processors that the account's rules choose for the payment (D15).
func route(merchant account.State, c payment.Create) []payment.Target {
	facts := account.RouteFacts{Currency: c.Currency, Network: c.Method.Card.Network, Metadata: c.Metadata}
	if c.Amount != nil {
		facts.Amount = *c.Amount
	}
	if c.Order != nil {
		facts.CountryCode = c.Order.CountryCode
	}
	var targets []payment.Target
	for _, p := range merchant.Route(facts) {
		targets = append(targets, payment.Target{Processor: p.Name, MerchantID: p.MerchantID})
	}
	return targets
}

// payWith reads the instrument and the session that made it, and refuses a token that cannot pay. A refusal
// counts only on what the leader holds: a replica may not have heard of the token yet.
func (s *Service) payWith(ctx context.Context, account domain.AccountID, token domain.Token, id domain.PaymentID) (instrument.State, session.State, error) {
	key := eventstore.Instruments.Key(account, string(token))
	use := func(tip eventstore.Tip[instrument.State], err error) (instrument.State, error) {
		if err == nil {
			use := instrument.Use{At: s.Store.Now(), Payment: id}
			if tip.State.UsedBy != id {
				use.Instead = s.lostClaim(ctx, tip.State)
			}
			_, err = instrument.DecideUse(tip.State, use)
		}
		return tip.State, err
	}
	tool, err := use(eventstore.LoadTip(ctx, s.Store, eventstore.Instruments, key))
	if err != nil {
		if tool, err = use(eventstore.LoadTipAtLeader(ctx, s.Store, eventstore.Instruments, key)); err != nil {
			return tool, session.State{}, err
		}
	}
	from, err := eventstore.LoadTip(ctx, s.Store, eventstore.Sessions, eventstore.Sessions.Key(account, string(tool.Session)))
	if err == nil && !from.State.Exists() {
		from, err = eventstore.LoadTipAtLeader(ctx, s.Store, eventstore.Sessions, eventstore.Sessions.Key(account, string(tool.Session)))
	}
	if err != nil {
		return tool, session.State{}, err
	}
	if from.State.ApprovalMode == session.ApprovalManual {
		return tool, session.State{}, domain.Refuse(domain.KindConflict, domain.ReasonPayment,
			"The payment cannot be created: its client session asks for the approval of a payment attempt.")
	}
	return tool, from.State, nil
}

// method lays the request's wishes over the session's (D5).
func method(tool instrument.State, from, in session.Method) payment.Method {
	return payment.Method{
		Token: tool.Token, Type: instrument.MethodCard, TokenizedAt: tool.CreatedAt, Vaulted: tool.Vaulted(), AnalyticsID: tool.AnalyticsID, Card: tool.Card,
		PaymentType:        domain.FirstNonEmpty(in.PaymentType, from.PaymentType),
		AuthorizationType:  domain.FirstNonEmpty(in.AuthorizationType, from.AuthorizationType, "FINAL"),
		FirstPaymentReason: domain.FirstNonEmpty(in.FirstPaymentReason, from.FirstPaymentReason),
		Descriptor:         domain.FirstNonEmpty(in.Descriptor, from.Descriptor),
		VaultOnSuccess:     in.VaultOnSuccess || from.VaultOnSuccess,
		VaultOn3DS:         in.VaultOn3DS || from.VaultOn3DS,
		VaultOnAgreement:   in.VaultOnAgreement || from.VaultOnAgreement,
	}
}

// personal opens what session and instrument hold sealed, merges the request's customer over it and seals
// the whole for the payment.
func (s *Service) personal(ctx context.Context, c payment.Create, tool instrument.State, from session.State, customer *domain.Customer) (*domain.Sealed, error) {
	ofSession, err := s.Vault.Open(ctx, from.Personal)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	ofCard, err := s.Vault.Open(ctx, tool.Personal)
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	sealed, err := s.Vault.Seal(ctx, secrets.PersonalKeyName(c.Account, c.CustomerID, c.Session), domain.Personal{
		Customer: domain.MergeCustomer(ofSession.Customer, customer), CardholderName: ofCard.CardholderName,
	})
	if err != nil {
		return nil, domain.Unavailable(err)
	}
	return sealed, nil
}

// claimToken records which payment uses the token: after it, no other can.
func (s *Service) claimToken(ctx context.Context, by Caller, token domain.Token, id domain.PaymentID) error {
	meta, err := s.request(by)
	if err != nil {
		return err
	}
	_, err = eventstore.Execute(ctx, s.Store, eventstore.Instruments, eventstore.Instruments.Key(by.Account, string(token)), meta,
		func(state instrument.State) (instrument.Event, error) {
			return instrument.DecideUse(state, instrument.Use{At: meta.At, Payment: id, Instead: s.lostClaim(ctx, state)})
		})
	return err
}

// lostClaim gives the payment that claimed the token and was made with another one, if that is what became
// of the claim; "" else. What is asked is at the leader: a payment that is not there yet may still use it.
func (s *Service) lostClaim(ctx context.Context, tool instrument.State) domain.PaymentID {
	if tool.UsedBy == "" {
		return ""
	}
	tip, err := eventstore.LoadTipAtLeader(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(tool.Account, string(tool.UsedBy)))
	if err != nil || tip.Recorded == nil || tip.State.Exists() && tip.State.Method.Token == tool.Token {
		return ""
	}
	return tool.UsedBy
}
