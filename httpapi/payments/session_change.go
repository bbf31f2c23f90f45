package payments

import (
	"encoding/json"
	"fmt"
	"maps"

	"payledger/domain"
	"payledger/domain/session"
	"payledger/eventstore/commands/sessions"
	"payledger/httpapi/clienttoken"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
)

// GetSession serves GET /client-session, without its token (D4).
func (h *Handlers) GetSession(c *request.Call) (any, error) {
	access, err := h.ownSession(c, c.Query.Get("clientToken"))
	if err != nil {
		return nil, err
	}
	s, err := h.Commands.Session(c.Ctx, c.Merchant.ID, h.Tokens.SessionID(access))
	if err != nil {
		return nil, err
	}
	return h.sessionContent(c, s)
}

type changeRequest struct {
	ClientToken string `json:"clientToken"`
}

// ChangeSession serves PATCH /client-session. A field that is absent from the request does not
// change (D4).
func (h *Handlers) ChangeSession(c *request.Call, body changeRequest) (any, error) {
	access, err := h.ownSession(c, body.ClientToken)
	if err != nil {
		return nil, err
	}
	changed, err := h.Commands.ChangeSession(c.Ctx, c.Caller(), h.Tokens.SessionID(access), func(in sessions.SessionInput) (sessions.SessionInput, error) {
		after, err := merged(in, c.Body.Text)
		if err != nil {
			return in, err
		}
		var found validation.Violations
		found.OptionsSize(after.Fields.Method.Options)
		kept, err := currencyAlone(in.Fields, after.Fields, c.Body.Text)
		if err != nil {
			return in, err
		}
		if kept != "" {
			return in, domain.InvalidAt(c.Model, "$.currencyCode", "must stay %s, or be sent with %s", in.Fields.Currency, kept)
		}
		return after, validation.Refuse(nil, c.Model, found)
	})
	if err != nil {
		return nil, err
	}
	content, err := h.sessionContent(c, changed)
	if err != nil {
		return nil, err
	}
	token, err := h.Tokens.SignSession(changed, access)
	return sessionAnswer{content, token}, err
}

// ownSession returns the access token of the merchant's client token; an error for another
// merchant's client token.
func (h *Handlers) ownSession(c *request.Call, token string) (clienttoken.AccessToken, error) {
	owner, access, err := h.Tokens.ReadSession(c.Ctx, token)
	if err == nil && owner != c.Merchant.ID {
		err = clienttoken.Refused()
	}
	return access, err
}

// currencyAlone returns an amount that a patch would leave as it is in another currency; "" for
// none. An amount keeps its currency (D22.3).
func currencyAlone(was, after session.Fields, text []byte) (kept string, err error) {
	if was.Currency == "" || after.Currency == "" || after.Currency == was.Currency {
		return "", nil
	}
	patch, err := validation.ExactTree(text)
	if err != nil {
		return "", err
	}
	order, _ := patch["order"].(map[string]any)
	shipping, _ := order["shipping"].(map[string]any)
	o := after.Order
	switch {
	case after.Amount != nil && patch["amount"] == nil:
		return "amount", nil
	case o == nil:
		return "", nil
	case len(o.LineItems) > 0 && order["lineItems"] == nil:
		return "order.lineItems", nil
	case len(o.Fees) > 0 && order["fees"] == nil:
		return "order.fees", nil
	case o.Shipping.Price() != 0 && shipping["amount"] == nil:
		return "order.shipping.amount", nil
	default:
		return "", nil
	}
}

// merged applies a patch to a session (D4): null removes a field, arrays and metadata replace,
// objects merge. Numbers keep their digits.
func merged(in sessions.SessionInput, text []byte) (sessions.SessionInput, error) {
	patch, err := validation.ExactTree(text)
	if err != nil {
		return in, err
	}
	was, err := treeOf(requestOf(in))
	if err != nil {
		return in, err
	}
	for name, value := range patch {
		switch {
		case name == "clientToken":
		case value == nil:
			delete(was, name)
		case name == "customer":
			was[name] = overlaid(was[name], oneSpelling(value))
		case name == "metadata":
			was[name] = value
		default:
			was[name] = overlaid(was[name], value)
		}
	}
	if text, err = validation.ExactText(was); err != nil {
		return in, err
	}
	var after sessionRequest
	if err := json.Unmarshal(text, &after); err != nil {
		return in, fmt.Errorf("httpapi: a merged session: %w", err)
	}
	if method, _ := patch["paymentMethod"].(map[string]any); method["options"] == nil && after.PaymentMethod.Options != "" {
		after.PaymentMethod.Options = in.Fields.Method.Options // keeps the order of the fields
	}
	return after.input(), nil
}

// overlaid merges over into base. It merges objects field by field, and null removes a field. Any
// other value replaces base.
func overlaid(base, over any) any {
	patch, isObject := over.(map[string]any)
	if !isObject {
		return over
	}
	result := map[string]any{}
	if object, is := base.(map[string]any); is {
		maps.Copy(result, object)
	}
	for name, value := range patch {
		if value == nil {
			delete(result, name)
			continue
		}
		result[name] = overlaid(result[name], value)
	}
	return result
}

// oneSpelling renames a customer's emailAddress to email (D4).
func oneSpelling(value any) any {
	sent, _ := value.(map[string]any)
	customer := maps.Clone(sent)
	if email, is := customer["emailAddress"]; is {
		delete(customer, "emailAddress")
		customer["email"] = email
	}
	return customer
}

func requestOf(in sessions.SessionInput) sessionRequest {
	f := in.Fields
	r := sessionRequest{
		OrderID: f.OrderID, CustomerID: f.CustomerID, CurrencyCode: f.Currency, Amount: f.Amount, Order: f.Order,
		Metadata: f.Metadata, PaymentMethod: f.Method, ApprovalMode: f.ApprovalMode, ReturnURL: f.ReturnURL,
	}
	if in.Customer != nil {
		r.Customer = &customerBody{Customer: *in.Customer}
	}
	return r
}

func (r sessionRequest) input() sessions.SessionInput {
	return sessions.SessionInput{
		Customer: r.Customer.customer(),
		Fields: session.Fields{
			OrderID: r.OrderID, CustomerID: r.CustomerID, Currency: r.CurrencyCode, Amount: r.Amount,
			Order: r.Order, Metadata: request.Integers(r.Metadata), Method: validation.Compact(r.PaymentMethod),
			ApprovalMode: r.ApprovalMode, ReturnURL: r.ReturnURL,
		},
	}
}

func treeOf(v any) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	tree, err := validation.ExactTree(text)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(tree, func(_ string, value any) bool { return value == nil })
	return tree, nil
}
