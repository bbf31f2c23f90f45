package httpapi

import (
	"reflect"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/session"
	"payledger/projections/paymentjson"
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
	EmailAddress string `json:"emailAddress,omitempty"`
}

func (b *customerBody) customer() *domain.Customer {
	if b == nil {
		return nil
	}
	c := b.Customer
	c.Email = domain.FirstNonEmpty(c.Email, b.EmailAddress)
	return &c
}

// sessionContent is what a client session holds (D4): what was sent, and the amount that counts.
type sessionContent struct {
	OrderID                   string                `json:"orderId,omitempty"`
	CustomerID                string                `json:"customerId,omitempty"`
	CurrencyCode              domain.Currency       `json:"currencyCode,omitempty"`
	Amount                    *domain.Amount        `json:"amount,omitempty"`
	Order                     *domain.Order         `json:"order,omitempty"`
	Customer                  *paymentjson.Customer `json:"customer,omitempty"`
	Metadata                  domain.Metadata       `json:"metadata,omitempty"`
	PaymentMethod             *session.Method       `json:"paymentMethod,omitempty"`
	ApprovalMode              string                `json:"approvalMode"`
	CurrentAttemptID          domain.AttemptID      `json:"currentAttemptId,omitempty"`
	ReturnURL                 string                `json:"returnUrl,omitempty"`
	ClientExpirationDate      paymentjson.Time      `json:"clientExpirationDate"`
	ClientTokenExpirationDate paymentjson.Time      `json:"clientTokenExpirationDate"`
	Warnings                  []warning             `json:"warnings,omitempty"`
}

// sessionAnswer is a client session with the client token.
type sessionAnswer struct {
	sessionContent
	ClientToken string `json:"clientToken"`
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
	access, err := newAccessToken(c.api.Random)
	if err != nil {
		return nil, err
	}
	in := body.input()
	made, err := c.api.Commands.CreateSession(c.ctx, c.caller(), c.api.sessionID(access), in)
	if err != nil {
		return nil, err
	}
	token, err := c.api.signClientToken(made, access)
	if err != nil {
		return nil, err
	}
	return sessionAnswer{renderSession(made, in.Customer), token}, nil
}

// sessionContent shows a session as it stands, with its customer and its active attempt (§2.5).
func (c *call) sessionContent(s session.State) (sessionContent, error) {
	personal, err := c.api.Reader.Personal(c.ctx, s.Personal)
	if err != nil {
		return sessionContent{}, err
	}
	content := renderSession(s, personal.Customer)
	if s.Attempt == "" {
		return content, nil
	}
	named, err := c.api.Commands.Attempt(c.ctx, s.Account, s.Attempt)
	if err != nil {
		return sessionContent{}, err
	}
	if status := named.Status(c.api.Now()); status == attempt.RequiresApproval || status == attempt.Approved {
		content.CurrentAttemptID = named.ID
	}
	return content, nil
}

func renderSession(s session.State, customer *domain.Customer) sessionContent {
	a := sessionContent{
		OrderID: s.OrderID, CustomerID: s.CustomerID, CurrencyCode: s.Currency, Amount: s.Total(), Order: s.Order,
		Customer: paymentjson.RenderCustomer(customer), Metadata: s.Metadata, ApprovalMode: s.ApprovalMode,
		ReturnURL: s.ReturnURL, ClientExpirationDate: paymentjson.Time{Time: s.ExpiresAt},
		ClientTokenExpirationDate: paymentjson.Time{Time: s.ExpiresAt},
	}
	if !reflect.ValueOf(s.Method).IsZero() {
		a.PaymentMethod = &s.Method
	}
	for _, field := range missing(s.Fields) {
		a.Warnings = append(a.Warnings, warning{
			Type: "CHECKOUT", Code: "MISSING_DATA", Message: "A checkout needs " + field + ".",
		})
	}
	return a
}

// missing names the fields that a checkout drop-in needs and the session lacks (§2.5, D4).
func missing(f session.Fields) (fields []string) {
	if f.OrderID == "" {
		fields = append(fields, "orderId")
	}
	if f.Currency == "" {
		fields = append(fields, "currencyCode")
	}
	if f.Order == nil || len(f.Order.LineItems) == 0 {
		fields = append(fields, "order.lineItems")
	}
	return fields
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
