package httpapi

import (
	"payledger/domain"
	"payledger/domain/session"
	"payledger/eventstore/commands"
	"payledger/projections"
)

// sessionRequest is the body of POST /client-session (D4).
type sessionRequest struct {
	OrderID       string          `json:"orderId"`
	CustomerID    string          `json:"customerId"`
	CurrencyCode  domain.Currency `json:"currencyCode"`
	Amount        *domain.Amount  `json:"amount"`
	Order         *domain.Order   `json:"order"`
	Customer      *customerBody   `json:"customer"`
	Metadata      domain.Metadata `json:"metadata"`
	PaymentMethod session.Method  `json:"paymentMethod"`
	ApprovalMode  string          `json:"approvalMode"`
	ReturnURL     string          `json:"returnUrl"`
}

// customerBody takes both spellings of the e-mail (D4).
type customerBody struct {
	domain.Customer
	EmailAddress string `json:"emailAddress"`
}

func (b *customerBody) customer() *domain.Customer {
	if b == nil {
		return nil
	}
	c := b.Customer
	c.Email = domain.FirstNonEmpty(c.Email, b.EmailAddress)
	return &c
}

// sessionAnswer is a client session as it is answered (D4): what was sent, the amount that counts, and the
// client token.
type sessionAnswer struct {
	OrderID                   string                `json:"orderId,omitempty"`
	CustomerID                string                `json:"customerId,omitempty"`
	CurrencyCode              domain.Currency       `json:"currencyCode,omitempty"`
	Amount                    *domain.Amount        `json:"amount,omitempty"`
	Order                     *domain.Order         `json:"order,omitempty"`
	Customer                  *projections.Customer `json:"customer,omitempty"`
	Metadata                  domain.Metadata       `json:"metadata,omitempty"`
	PaymentMethod             *session.Method       `json:"paymentMethod,omitempty"`
	ApprovalMode              string                `json:"approvalMode"`
	ReturnURL                 string                `json:"returnUrl,omitempty"`
	ClientToken               string                `json:"clientToken"`
	ClientExpirationDate      projections.Time      `json:"clientExpirationDate"`
	ClientTokenExpirationDate projections.Time      `json:"clientTokenExpirationDate"`
	Warnings                  []warning             `json:"warnings"`
}

type warning struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// createSession: POST /client-session.
func createSession(c *call) (any, error) {
	body, err := decode[sessionRequest](c)
	if err != nil {
		return nil, err
	}
	customer := body.Customer.customer()
	made, err := c.api.Commands.CreateSession(c.ctx, c.caller(), commands.SessionInput{
		Customer: customer,
		Fields: session.Fields{
			OrderID: body.OrderID, CustomerID: body.CustomerID, Currency: body.CurrencyCode, Amount: body.Amount,
			Order: body.Order, Metadata: integers(body.Metadata), Method: body.PaymentMethod,
			ApprovalMode: body.ApprovalMode, ReturnURL: body.ReturnURL,
		},
	})
	if err != nil {
		return nil, err
	}
	token, err := c.api.signClientToken(made)
	if err != nil {
		return nil, err
	}
	return renderSession(made, customer, token), nil
}

func renderSession(s session.State, customer *domain.Customer, token string) sessionAnswer {
	a := sessionAnswer{
		OrderID: s.OrderID, CustomerID: s.CustomerID, CurrencyCode: s.Currency, Amount: s.Total(), Order: s.Order,
		Customer: projections.RenderCustomer(customer), Metadata: s.Metadata, ApprovalMode: s.ApprovalMode,
		ReturnURL: s.ReturnURL, ClientToken: token, ClientExpirationDate: projections.Time{Time: s.ExpiresAt},
		ClientTokenExpirationDate: projections.Time{Time: s.ExpiresAt}, Warnings: []warning{},
	}
	if s.Method != (session.Method{}) {
		a.PaymentMethod = &s.Method
	}
	for _, field := range s.Warnings() {
		a.Warnings = append(a.Warnings, warning{
			Type: "CHECKOUT", Code: "MISSING_DATA", Message: "A checkout needs " + field + ".",
		})
	}
	return a
}

// integers keeps the numbers of metadata as the integers that they are (D4).
func integers(m domain.Metadata) domain.Metadata {
	for key, value := range m {
		if f, ok := value.(float64); ok {
			m[key] = int64(f)
		}
	}
	return m
}
