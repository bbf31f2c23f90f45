package paymentpages

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/nextstep"
)

type action struct {
	Path  string // the last segment of the form's address
	Text  string
	Grave bool
}

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
	failure string // the transaction event of a failure
	when    []payment.Status
	grave   bool
}

var kinds = map[string]kind{
	"capture": {
		Title: "Capture a payment", Button: "Capture", api: "capture", done: "captured", failure: "CAPTURE_FAILED", Amount: true, Final: true,
		Warning: "The processor moves the money from the customer to you. A capture cannot be undone; the money can be refunded.",
		when:    []payment.Status{payment.StatusAuthorized, payment.StatusPartiallySettled},
	},
	"refund": {
		Title: "Refund a payment", Button: "Refund", api: "refund", done: "refunded", failure: "REFUND_FAILED", Amount: true, Reason: true, Order: true, grave: true,
		Warning: "The processor sends the money back to the customer. A refund cannot be undone.",
		when:    []payment.Status{payment.StatusSettled, payment.StatusPartiallySettled},
	},
	"cancel": {
		Title: "Cancel a payment", Button: "Cancel the payment", api: "cancel", done: "cancelled", failure: "CANCELLATION_FAILED", Reason: true, grave: true,
		Warning: "The processor releases the hold on the customer's money. What was not captured can never be captured. This cannot be undone.",
		when:    []payment.Status{payment.StatusPending, payment.StatusAuthorized, payment.StatusPartiallySettled},
	},
}

var order = []string{"capture", "refund", "cancel"}

// actions returns the operations that the payment's status allows. The API decides; this saves a
// useless form.
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
	return max(0, p.Processor.AmountCaptured-p.Processor.AmountRefunded-p.Refunding())
}

// Refunding is the amount of refunds without an outcome, in minor units.
func (p paymentData) Refunding() (sum domain.Amount) {
	for _, t := range p.Transactions {
		if t.TransactionType == "REFUND" && t.ProcessorStatus == string(payment.StatusPending) {
			sum += t.Amount
		}
	}
	return sum
}

type form struct {
	frame.Form
	kind
	Name     string
	Payment  paymentData
	Left     domain.Amount // that can be captured or refunded
	Revision uint64        // of the payment that the user sees
	Disputes []disputeRow  // of a refund
	Returned domain.Amount // of Left, by disputes
	Refuses  bool          // the account refuses refunds beside such disputes (D22.2)
}

// Says is the text of the form's button: with the amount in its field, if there is a sound one.
func (f form) Says() string {
	if text := f.Text("amount"); text != "" {
		if amount, err := frame.ParseAmount(text, f.Payment.CurrencyCode); err == nil {
			return f.Button + " " + frame.Money(amount, f.Payment.CurrencyCode)
		}
	}
	return f.Button
}

// One is an amount of 1 in the currency, as the pages write it.
func (f form) One() string {
	one := domain.Amount(1)
	for range f.Payment.CurrencyCode.Digits() {
		one *= 10
	}
	return frame.Money(one, f.Payment.CurrencyCode)
}

func ask(v *frame.Visit, out form) error {
	out.Key = v.NewKey()
	if out.Returned == 0 || out.Returned < out.Left {
		out.Values.Set("amount", frame.AmountText(out.Left-out.Returned, out.Payment.CurrencyCode))
	}
	return v.Show(out.page(http.StatusOK))
}

func open(v *frame.Visit) (form, error) {
	name := v.Request.PathValue("operation")
	k, known := kinds[name]
	if !known {
		return form{}, frame.NotFound()
	}
	out := form{kind: k, Name: name, Form: frame.Form{Values: map[string][]string{}}}
	if err := read(v, v.Request.PathValue("id"), &out.Payment); err != nil {
		return form{}, err
	}
	out.Left, out.Revision = out.Payment.capturable(), v.Revision
	if name == "refund" {
		out.Left = out.Payment.refundable()
		var err error
		if out.Disputes, err = disputesOf(v, out.Payment.ID); err != nil {
			return form{}, err
		}
		out.Returned = nextstep.Returned(plainDisputes(out.Disputes), out.Left, out.Payment.CurrencyCode)
		out.Refuses = v.Merchant.Settings.RefuseRefundOfDisputed && slices.ContainsFunc(out.Disputes, disputeRow.BesideRefund)
	}
	return out, nil
}

func (f form) page(status int) frame.Page {
	return frame.Page{Name: "operation", Title: f.Title, Nav: pathPayments, Status: status, Data: f}
}

// operate carries an operation out. The form's idempotency key makes a repeat harmless; its
// revision refuses a form that is out of date.
func operate(v *frame.Visit, out form, sent frame.Form) error {
	out.Form = sent
	out.Key = cmp.Or(out.Key, v.NewKey())
	seen := out.seen()
	if out.Review {
		out.compare(seen)
		return v.Show(out.page(http.StatusOK))
	}
	body := out.body(seen)
	if !out.Sound() {
		if out.compare(seen); out.Refusal.Text == "" {
			out.Refusal.Text = markedField
		}
		return v.Show(out.page(http.StatusUnprocessableEntity))
	}
	path := pathPayments + "/" + out.Payment.ID
	var done operated
	err := v.Operate(seen, frame.Path("management", "payments", out.Payment.ID, out.api), body, out.Key, &done)
	refund := out.refundOf(done)
	switch {
	case err == nil && out.failed(done, refund):
		return v.Redirect(path, out.Name+"-failed")
	case err == nil && slices.ContainsFunc(done.Warnings, warning.disputed):
		return v.Redirect(frame.Address(path, refund.values()), "refund-risk")
	case err == nil:
		return v.Redirect(frame.Address(path, refund.values()), out.done)
	case frame.IDOf(err) == string(domain.ReasonIdempotencyKeyExists):
		return v.Redirect(path, "repeated")
	}
	return refused(v, out, seen, err)
}

// refused shows the form again after err, the refusal of its operation.
func refused(v *frame.Visit, out form, seen uint64, err error) error {
	if err := out.Refused(err, "amount", "reason", "orderId"); err != nil {
		return err
	}
	if status := frame.StatusOf(err); status < http.StatusBadRequest || status >= http.StatusInternalServerError {
		out.Revision = seen // the outcome is unknown: the same form is sent again
		return v.Show(out.page(http.StatusUnprocessableEntity))
	}
	now, stale := open(v) // the payment may have changed, and a refusal may be recorded
	if stale != nil {
		return stale
	}
	now.Form = out.Form
	out = now
	out.Key = v.NewKey() // the refused request has used the key
	out.explain(err)
	if frame.IDOf(err) == string(domain.ReasonConcurrentModification) {
		out.compare(seen)
	}
	return v.Show(out.page(http.StatusUnprocessableEntity))
}

const never = math.MaxUint64

func (f *form) seen() uint64 {
	if seen, err := strconv.ParseUint(f.Text("revision"), 10, 64); err == nil && seen > 0 {
		return seen
	}
	return never
}

// compare adds a notice to the form if the payment has another revision than seen.
func (f *form) compare(seen uint64) {
	if seen == f.Revision {
		return
	}
	f.Refusal = frame.Refusal{
		Text:   "The payment has changed since this form was opened: in another tab, by a colleague, by a program or by the processor.",
		Advice: "The form shows the payment as it is now. Look at its amounts, and send the form again only if you still want this.",
	}
	if status := payment.Status(f.Payment.Status); !slices.Contains(f.when, status) {
		f.Refusal.Advice = "It is " + plainStatus(f.Payment) + " now, and cannot be " + past[f.Name] + ". " + advice(f.Name, status)
	}
}

// body returns the body of the operation's request. It notes the fields that would be refused: a
// request that the API refuses may be recorded, and reported by webhook (D7).
func (f *form) body(seen uint64) map[string]any {
	body := map[string]any{"expand": []string{"transactions.events"}}
	if f.kind.Amount {
		amount, err := frame.ParseAmount(f.Text("amount"), f.Payment.CurrencyCode)
		if err == nil && amount == 0 {
			err = errors.New("Write an amount above zero.") //nolint:staticcheck,revive // a sentence for people
		}
		if err != nil {
			f.Fault("amount", err.Error())
		} else if seen == f.Revision && amount > f.Left && slices.Contains(f.when, payment.Status(f.Payment.Status)) {
			f.Fault("amount", f.shortage(amount)) // with another revision the API refuses, or knows a repeat
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
