package payments

import (
	"time"

	"payledger/domain"
	"payledger/domain/attempt"
	"payledger/domain/instrument"
	"payledger/eventstore/commands/approvals"
	"payledger/eventstore/commands/payments"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections"
	"payledger/projections/paymentjson"
)

type attemptRequest struct {
	PaymentMethodToken domain.Token `json:"paymentMethodToken"`
	shownPrice
}

type attemptStarted struct {
	CurrentAttempt currentAttempt `json:"currentAttempt"`
}

type currentAttempt struct {
	ID                 domain.AttemptID `json:"id"`
	ApprovalStatus     attempt.Status   `json:"approvalStatus"`
	PaymentMethodToken domain.Token     `json:"paymentMethodToken"`
}

// StartAttempt serves POST /payment-attempts, from the customer's browser. It answers 202: the
// merchant decides later.
func (h *Handlers) StartAttempt(c *request.Call, body attemptRequest) (any, error) {
	made, err := h.Commands.StartAttempt(c.Ctx, c.Caller(), approvals.AttemptInput{
		Session: c.Session, Token: body.PaymentMethodToken, Shown: body.price(),
	})
	return request.Accepted{Answer: attemptStarted{currentAttempt{made.ID, made.Status(h.Now()), made.Token}}}, err
}

type browserAttempt struct {
	ID             domain.AttemptID `json:"id"`
	ApprovalStatus attempt.Status   `json:"approvalStatus"`
	PaymentID      domain.PaymentID `json:"paymentId,omitempty"`     // once the payment can be read
	AmountChanged  bool             `json:"amountChanged,omitempty"` // the session's price differs from the price that the customer saw
}

// GetAttempt serves GET /payment-attempts/{id}. An attempt of another session has the error of an
// unknown attempt.
func (h *Handlers) GetAttempt(c *request.Call) (any, error) {
	found, err := h.Commands.Attempt(c.Ctx, c.Merchant.ID, attemptID(c))
	if err == nil && found.Session != c.Session {
		err = attempt.NotFound()
	}
	if err != nil {
		return nil, err
	}
	changed, err := h.Commands.AmountChanged(c.Ctx, found)
	answer := browserAttempt{ID: found.ID, ApprovalStatus: found.Status(h.Now()), AmountChanged: changed}
	if found.Done {
		answer.PaymentID = found.Payment
	}
	return answer, err
}

// attemptApproved is the answer of an approval; a repeated approval has the same answer (D5.15).
type attemptApproved struct {
	PaymentAttemptID domain.AttemptID `json:"paymentAttemptId"`
	PaymentID        domain.PaymentID `json:"paymentId"`
}

// ApproveAttempt serves POST /payment-attempts/{id}/approve.
func (h *Handlers) ApproveAttempt(c *request.Call) (any, error) {
	done, err := h.Commands.ApproveAttempt(c.Ctx, c.Caller(), attemptID(c))
	return attemptApproved{done.ID, done.Payment}, err
}

type abortRequest struct {
	Reason string `json:"reason"`
}

type attemptAborted struct {
	PaymentAttemptID domain.AttemptID `json:"paymentAttemptId"`
	ApprovalStatus   attempt.Status   `json:"approvalStatus"`
}

// AbortAttempt serves POST /payment-attempts/{id}/abort.
func (h *Handlers) AbortAttempt(c *request.Call, body abortRequest) (any, error) {
	done, err := h.Commands.AbortAttempt(c.Ctx, c.Caller(), attemptID(c), body.Reason)
	return attemptAborted{done.ID, done.Status(h.Now())}, err
}

func attemptID(c *request.Call) domain.AttemptID { return domain.AttemptID(c.Vars["id"]) }

// managedAttempt is an attempt with what the decision is about. It has neither the token nor the
// session: they are credentials.
type managedAttempt struct {
	ID             domain.AttemptID  `json:"id"`
	ApprovalStatus attempt.Status    `json:"approvalStatus"`
	CreatedAt      paymentjson.Time  `json:"createdAt"`
	ExpiresAt      paymentjson.Time  `json:"expiresAt"`
	DecidedAt      *paymentjson.Time `json:"decidedAt,omitempty"`
	Reason         string            `json:"reason,omitempty"`    // of an abort
	PaymentID      domain.PaymentID  `json:"paymentId,omitempty"` // of an approval, once the payment can be read
	OrderID        string            `json:"orderId,omitempty"`
	CustomerID     string            `json:"customerId,omitempty"`
	Amount         *domain.Amount    `json:"amount,omitempty"`
	CurrencyCode   domain.Currency   `json:"currencyCode,omitempty"`
	AmountChanged  bool              `json:"amountChanged,omitempty"` // since the customer agreed: an approval is refused
	PaymentMethod  attemptMethod     `json:"paymentMethod"`
}

type attemptMethod struct {
	Type            string         `json:"paymentMethodType"`
	Network         domain.Network `json:"network,omitempty"`
	Last4Digits     string         `json:"last4Digits,omitempty"`
	ExpirationMonth string         `json:"expirationMonth,omitempty"`
	ExpirationYear  string         `json:"expirationYear,omitempty"`
	IsVaulted       bool           `json:"isVaulted"`
}

// ListAttempts serves GET /management/payment-attempts: those that wait for a decision.
func (h *Handlers) ListAttempts(c *request.Call) (any, error) {
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	now := h.Now()
	found, err := h.Reader.WaitingAttempts(c.Ctx, c.Merchant.ID, now, c.From, request.Limit(c.Query))
	return request.List[managedAttempt]{
		Data:       request.Map(found.Data, func(a projections.AttemptWithTerms) managedAttempt { return renderAttempt(a, now) }),
		NextCursor: attemptCursors(c).Text(found.Next),
	}, err
}

func attemptCursors(c *request.Call) request.Cursors { return c.Cursors("attempts", nil) }

func attemptListRules(v *validation.Violations, c *request.Call) { attemptCursors(c).Check(v, c) }

// GetManagedAttempt serves GET /management/payment-attempts/{id}.
func (h *Handlers) GetManagedAttempt(c *request.Call) (any, error) {
	found, err := h.Reader.AttemptWithTerms(c.Ctx, c.Merchant.ID, attemptID(c))
	return renderAttempt(found, h.Now()), err
}

func renderAttempt(of projections.AttemptWithTerms, now time.Time) managedAttempt {
	a, from, card := of.Attempt, of.Session, of.Instrument.Card
	out := managedAttempt{
		ID: a.ID, ApprovalStatus: a.Status(now), CreatedAt: paymentjson.Time{Time: a.CreatedAt}, ExpiresAt: paymentjson.Time{Time: a.ExpiresAt},
		Reason: a.Reason, OrderID: from.OrderID, CustomerID: from.CustomerID, Amount: from.Total(), CurrencyCode: from.Currency,
		AmountChanged: a.Decision == "" && !payments.AsShown(a.Shown, from),
		PaymentMethod: attemptMethod{
			Type: instrument.MethodCard, Network: card.Network, Last4Digits: card.Last4Digits,
			ExpirationMonth: card.ExpirationMonth, ExpirationYear: card.ExpirationYear, IsVaulted: of.Instrument.Vaulted(),
		},
	}
	if a.Decision != "" {
		out.DecidedAt = &paymentjson.Time{Time: a.DecidedAt}
	}
	if a.Done {
		out.PaymentID = a.Payment
	}
	return out
}
