package payment

import (
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
)

// Create is the command to create a payment. Its fields combine request, session and instrument
// (D5.1).
type Create struct {
	At             time.Time
	ID             domain.PaymentID
	Account        domain.AccountID
	OrderID        string
	CustomerID     string
	Currency       domain.Currency
	Amount         *domain.Amount // nil: neither request nor session has one
	Order          *domain.Order
	Metadata       domain.Metadata
	Preferences    *domain.Preferences // nil: none
	Method         Method
	Personal       *domain.Sealed
	Session        domain.SessionID
	IdempotencyKey string
	Route          []Target
	AutoCapture    bool // the account's captureMode is AUTOMATIC (D5.8)
}

const creationModel = "PaymentCreation"

// ErrNoProcessor means that no processor is enabled. A later attempt may succeed.
var ErrNoProcessor = errors.New("the route of the payment is empty")

// ErrElsewhere means that the card is a token of a processor to which the account's rules do not
// lead.
var ErrElsewhere = errors.New("the route of the payment lacks the processor of its token")

// DecideCreate creates the payment. Errors, in this order: a used key or token (D9), missing fields
// (D3), an invalid amount (§8), vaulting without a customer (D5.5), an empty route.
func DecideCreate(s State, c Create) (Event, error) {
	if s.Revision > 0 {
		return nil, s.alreadyCreated(c)
	}
	if c.OrderID == "" || c.Currency == "" || c.Amount == nil || c.CustomerID == "" && c.Method.Vaulted {
		return nil, missingFields(c)
	}
	if *c.Amount < 0 || *c.Amount > domain.MaxAmount || !c.Currency.Known() {
		return nil, domain.InvalidAt(creationModel, "$.amount", "must be from 0 to %d minor units of an ISO 4217 currency", domain.MaxAmount)
	}
	if m := c.Method; c.CustomerID == "" && (m.VaultOnSuccess || m.VaultOn3DS || m.VaultOnAgreement) {
		return nil, domain.InvalidAt(creationModel, "$.customerId", "is required to save the payment method")
	}
	if len(c.Route) == 0 {
		err := domain.Refuse(domain.KindConflict, domain.ReasonPayment, "The payment cannot be created: no processor is enabled.")
		err.Err, err.Recovery = ErrNoProcessor, domain.EnableProcessor
		return nil, err
	}
	e := Created{
		At: c.At, ID: c.ID, Account: c.Account, OrderID: c.OrderID, CustomerID: c.CustomerID,
		Currency: c.Currency, Amount: *c.Amount, Order: c.Order, Metadata: c.Metadata, Method: c.Method,
		Preferences: c.Preferences, Personal: c.Personal, Session: c.Session, Route: c.Route,
		AutoCapture: c.AutoCapture,
	}
	if c.IdempotencyKey != "" {
		e.KeyHash = domain.KeyHash(c.Account, c.IdempotencyKey)
	}
	return e, nil
}

// alreadyCreated returns the error for a repeated key, or a single-use token that has paid: the id
// derives from either.
func (s State) alreadyCreated(c Create) error {
	if c.IdempotencyKey == "" {
		return domain.Refuse(domain.KindConflict, domain.ReasonPayment,
			"The payment cannot be created: the payment method token was already used for a payment.")
	}
	err := s.KeyUsed()
	err.Payment = s.Owner()
	return err
}

func missingFields(c Create) error {
	err := domain.Invalid(creationModel)
	err.Message = "Missing fields for payment."
	missing := func(absent bool, path string) {
		if absent {
			err.Violations = append(err.Violations, domain.Violation{
				Path: path, Description: "is required in the request or in the client session",
			})
		}
	}
	missing(c.Amount == nil, "$.amount")
	missing(c.Currency == "", "$.currencyCode")
	missing(c.CustomerID == "" && c.Method.Vaulted, "$.customerId") // §4 rule 3
	missing(c.OrderID == "", "$.orderId")
	return err
}

func (s State) created(e Created) State {
	s.ID, s.Account = e.ID, e.Account
	s.CreatedAt = e.At
	s.OrderID, s.CustomerID = e.OrderID, e.CustomerID
	s.Currency, s.Amount = e.Currency, e.Amount
	s.Metadata, s.Method, s.Session = e.Metadata, e.Method, e.Session
	if e.Personal != nil {
		s.EmailHash, s.KeyNumber = e.Personal.EmailHash, e.Personal.KeyNumber
	}
	s.Route, s.AutoCapture = e.Route, e.AutoCapture
	if e.KeyHash != "" {
		s.KeyHashes = []string{e.KeyHash}
	}
	requested := Operation{
		Revision: s.Revision, Kind: processor.Authorize, Amount: e.Amount, RequestedAt: e.At, State: StateRequested,
	}
	if len(e.Route) > 0 {
		requested.Target = e.Route[0]
	}
	s.Operations = []Operation{requested}
	return s
}
