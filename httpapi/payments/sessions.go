package payments

import (
	"cmp"
	"reflect"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/session"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

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

// customerBody accepts both names of the e-mail address (D4).
type customerBody struct {
	domain.Customer
	EmailAddress string `json:"emailAddress,omitempty"`
}

func (b *customerBody) customer() *domain.Customer {
	if b == nil {
		return nil
	}
	c := b.Customer
	c.Email = cmp.Or(c.Email, b.EmailAddress)
	return &c
}

// sessionContent is the content of a client session (D4): the fields that were sent, and the
// effective amount.
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

type sessionAnswer struct {
	sessionContent
	ClientToken string `json:"clientToken"`
}

type warning struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// CreateSession serves POST /client-session.
func (h *Handlers) CreateSession(c *request.Call, body sessionRequest) (any, error) {
	access, err := clienttoken.NewAccess(h.Random)
	if err != nil {
		return nil, err
	}
	in := body.input()
	made, err := h.Commands.CreateSession(c.Ctx, c.Caller(), h.Tokens.SessionID(access), in)
	if err != nil {
		return nil, err
	}
	token, err := h.Tokens.SignSession(made, access)
	return sessionAnswer{renderSession(made, in.Customer), token}, err
}

// sessionContent returns the content of a session, with its customer and its active attempt (§2.5).
func (h *Handlers) sessionContent(c *request.Call, s session.State) (sessionContent, error) {
	personal, err := h.Reader.Personal(c.Ctx, s.Personal)
	if err != nil {
		return sessionContent{}, err
	}
	content := renderSession(s, personal.Customer)
	if s.Attempt == "" {
		return content, nil
	}
	named, err := h.Commands.Attempt(c.Ctx, s.Account, s.Attempt)
	if err != nil {
		return sessionContent{}, err
	}
	if status := named.Status(h.Now()); status == attempt.RequiresApproval || status == attempt.Approved {
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
		a.Warnings = append(a.Warnings, warning{Type: "CHECKOUT", Code: "MISSING_DATA", Message: "A checkout needs " + field + "."})
	}
	return a
}

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
