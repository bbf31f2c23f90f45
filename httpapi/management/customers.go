package management

import (
	"payledger/domain"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections"
	"payledger/projections/paymentjson"
)

type customerAnswer struct {
	CustomerID string            `json:"customerId"`
	ErasedAt   *paymentjson.Time `json:"erasedAt,omitempty"` // of the newest erasure
	Erasing    bool              `json:"erasing,omitempty"`  // the destruction is not finished
}

// ListCustomers serves GET /management/customers.
func (h *Handlers) ListCustomers(c *request.Call) (any, error) {
	if err := c.ShowLag(h.Reader); err != nil {
		return nil, err
	}
	found, err := h.Reader.Customers(c.Ctx, c.Merchant.ID, c.From, request.Limit(c.Query))
	return request.List[customerAnswer]{Data: request.Map(found.Data, renderCustomer), NextCursor: customerCursors(c).Text(found.Next)}, err
}

func customerCursors(c *request.Call) request.Cursors { return c.Cursors("customers", nil) }

func customerRules(v *validation.Violations, c *request.Call) { customerCursors(c).Check(v, c) }

// GetCustomer serves GET /management/customers/{customerId}.
func (h *Handlers) GetCustomer(c *request.Call) (any, error) {
	found, known, err := h.Reader.Customer(c.Ctx, c.Merchant.ID, c.Vars["customerId"])
	if err == nil && !known {
		err = domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "The customer is unknown.")
	}
	return renderCustomer(found), err
}

func renderCustomer(c projections.Customer) customerAnswer {
	return customerAnswer{c.ID, request.Time(c.ErasedAt), c.Due}
}
