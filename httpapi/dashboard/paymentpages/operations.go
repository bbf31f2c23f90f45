package paymentpages

import (
	"errors"
	"net/http"
	"slices"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/httpapi/dashboard/frame"
)

// action is an operation that a user can start on a payment.
type action struct {
	Path  string // the last segment of the form's address
	Text  string
	Grave bool
}

// kind is what a form needs to know about its operation.
type kind struct {
	Title   string
	Button  string
	Warning string // what it does, and that it cannot be undone
	Amount  bool
	Final   bool
	Reason  bool
	Order   bool
	api     string
	done    string
	when    []payment.Status
	grave   bool
}

var kinds = map[string]kind{
	"capture": {
		Title: "Capture a payment", Button: "Capture", api: "capture", done: "captured", Amount: true, Final: true,
		Warning: "The processor moves the money from the customer to you. A capture cannot be undone; the money can be refunded.",
		when:    []payment.Status{payment.StatusAuthorized, payment.StatusPartiallySettled},
	},
	"refund": {
		Title: "Refund a payment", Button: "Refund", api: "refund", done: "refunded", Amount: true, Reason: true, Order: true, grave: true,
		Warning: "The processor sends the money back to the customer. A refund cannot be undone.",
		when:    []payment.Status{payment.StatusSettled, payment.StatusPartiallySettled},
	},
	"cancel": {
		Title: "Cancel a payment", Button: "Cancel the payment", api: "cancel", done: "cancelled", Reason: true, grave: true,
		Warning: "The processor releases the hold on the customer's money. What was not captured can never be captured. This cannot be undone.",
		when:    []payment.Status{payment.StatusPending, payment.StatusAuthorized, payment.StatusPartiallySettled},
	},
}

// order is the order of the operations on the page.
var order = []string{"capture", "refund", "cancel"}

// actions returns the operations that the payment's status allows. The API decides; this saves a useless form.
func actions(p paymentData, auditor bool) (all []action) {
	if auditor {
		return nil
	}
	for _, name := range order {
		k := kinds[name]
		if slices.Contains(k.when, payment.Status(p.Status)) && (name != "refund" || p.refundable() > 0) {
			all = append(all, action{name, k.Button, k.grave})
		}
	}
	return all
}

// capturable and refundable are the amounts that are left, in minor units.
func (p paymentData) capturable() domain.Amount {
	if p.Processor == nil {
		return p.Amount
	}
	return max(0, p.Amount-p.Processor.AmountCaptured)
}

func (p paymentData) refundable() domain.Amount {
	if p.Processor == nil {
		return 0
	}
	return max(0, p.Processor.AmountCaptured-p.Processor.AmountRefunded)
}

// form is the content of an operation's page.
type form struct {
	frame.Form
	kind
	Name    string
	Payment paymentData
	Left    domain.Amount // that can be captured or refunded
}

// ask serves the page that asks for an operation's amount and confirmation.
func ask(v *frame.Visit) error {
	out, err := open(v)
	if err != nil {
		return err
	}
	out.Key = v.NewKey()
	out.Values.Set("amount", frame.AmountText(out.Left, out.Payment.CurrencyCode))
	return v.Show(out.page(http.StatusOK))
}

// open reads the payment of an operation's page.
func open(v *frame.Visit) (form, error) {
	name := v.Request.PathValue("operation")
	k, known := kinds[name]
	if !known {
		return form{}, frame.NotFound()
	}
	out := form{kind: k, Name: name, Form: frame.Form{Values: map[string][]string{}}}
	if err := v.Get(frame.Path("management", "payments", v.Request.PathValue("id")), nil, &out.Payment); err != nil {
		return form{}, missing(err)
	}
	out.Left = out.Payment.capturable()
	if name == "refund" {
		out.Left = out.Payment.refundable()
	}
	return out, nil
}

func (f form) page(status int) frame.Page {
	return frame.Page{Name: "operation", Title: f.Title, Nav: pathPayments, Status: status, Data: f}
}

// operate carries an operation out. The form's idempotency key makes a repeat harmless.
func operate(v *frame.Visit) error {
	out, err := open(v)
	if err != nil {
		return err
	}
	var review bool
	if out.Form, review, err = v.Input(); err != nil {
		return err
	}
	if out.Key == "" {
		out.Key = v.NewKey()
	}
	if review {
		return v.Show(out.page(http.StatusOK))
	}
	body := out.body()
	if out.Sound() {
		path := pathPayments + "/" + out.Payment.ID
		err = v.Send(http.MethodPost, frame.Path("management", "payments", out.Payment.ID, out.api), body, out.Key, nil)
		switch {
		case err == nil:
			return v.Redirect(path, out.done)
		case frame.IDOf(err) == string(domain.ReasonIdempotencyKeyExists):
			return v.Redirect(path, "repeated")
		}
		if err := out.Refused(err, "amount", "reason", "orderId"); err != nil {
			return err
		}
		if status := frame.StatusOf(err); status >= http.StatusBadRequest && status < http.StatusInternalServerError {
			out.Key = v.NewKey() // the refused request has used the key; after an unknown outcome the key must stay
		}
	}
	return v.Show(out.page(http.StatusUnprocessableEntity))
}

// body returns the body of the API's call. It notes invalid input in the form.
func (f *form) body() map[string]any {
	body := map[string]any{}
	if f.kind.Amount {
		amount, err := frame.ParseAmount(f.Text("amount"), f.Payment.CurrencyCode)
		if err == nil && amount == 0 {
			err = errors.New("Write an amount above zero.") //nolint:staticcheck,revive // a sentence for people
		}
		if err != nil {
			f.Fault("amount", err.Error())
		}
		body["amount"] = amount
	}
	if f.kind.Final {
		body["final"] = f.Has("final", "yes")
	}
	if reason := f.Text("reason"); f.kind.Reason && reason != "" {
		body["reason"] = reason
	}
	if order := f.Text("orderId"); f.kind.Order && order != "" {
		body["orderId"] = order
	}
	return body
}
