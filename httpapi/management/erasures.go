package management

import (
	"payledger/domain"
	"payledger/httpapi/request"
	"payledger/projections/paymentjson"
)

type erasureAnswer struct {
	CustomerID string           `json:"customerId,omitempty"`
	PaymentID  domain.PaymentID `json:"paymentId,omitempty"`
	ErasedAt   paymentjson.Time `json:"erasedAt"`
}

// EraseCustomer serves POST /management/customers/{customerId}/erase (D20).
func (h *Handlers) EraseCustomer(c *request.Call) (any, error) {
	erased, err := h.Commands.EraseCustomer(c.Ctx, c.Caller(), c.Vars["customerId"])
	return h.shown(c, erasureAnswer{CustomerID: erased.CustomerID, ErasedAt: paymentjson.Time{Time: erased.ErasedAt}}, err)
}

// EraseGuest serves POST /management/payments/{id}/erase (D20).
func (h *Handlers) EraseGuest(c *request.Call) (any, error) {
	id := domain.PaymentID(c.Vars["id"])
	erased, err := h.Commands.EraseGuest(c.Ctx, c.Caller(), id)
	return h.shown(c, erasureAnswer{PaymentID: id, ErasedAt: paymentjson.Time{Time: erased.ErasedAt}}, err)
}
