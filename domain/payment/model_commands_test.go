package payment_test

import (
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// The model's result of a command is an event type ("payment.captured"), a reason (D3), or one of
// these.
const (
	waits      = "waits"
	answered   = "answered"
	noSuch     = "no such operation"
	unheard    = "not understood"
	strange    = "another transaction"
	foreign    = "of another merchant account or currency"
	nothing    = "nothing"
	invalid    = string(domain.ReasonRequestValidation)
	badStatus  = string(domain.ReasonInvalidPaymentStatus)
	tooMany    = string(domain.ReasonPaymentRequestLimit)
	processing = string(domain.ReasonNoActionsToHandle)
	forGood    = "payment.refund_refused for good"
)

// guards are those of D3 up to the status; "" lets through.
func (b *book) guards(key string) string {
	switch {
	case b.sale == nil:
		return string(domain.ReasonPayment)
	case key != "" && b.keys[key]:
		return string(domain.ReasonIdempotencyKeyExists)
	case b.busy() != nil:
		return waits
	}
	return ""
}

// recorded notes an event and the key that it used.
func (b *book) recorded(event, key string) string {
	b.revision++
	if key != "" {
		b.keys[key] = true
	}
	return event
}

func (b *book) create(c payment.Create) string {
	switch {
	case b.sale != nil && c.IdempotencyKey != "":
		return string(domain.ReasonIdempotencyKeyExists)
	case b.sale != nil:
		return string(domain.ReasonPayment)
	case c.OrderID == "" || c.Currency == "" || c.Amount == nil:
		return invalid
	case len(c.Route) == 0:
		return string(domain.ReasonPayment)
	}
	b.total, b.currency, b.targets, b.automatic = *c.Amount, c.Currency, len(c.Route), c.AutoCapture
	b.estimated = c.Method.AuthorizationType == "ESTIMATED"
	b.recorded("", c.IdempotencyKey)
	b.ask(item{kind: processor.Authorize})
	return "payment.created"
}

func (b *book) capture(c payment.Capture) string {
	if no := b.guards(c.IdempotencyKey); no != "" {
		return no
	}
	switch left := b.left(); {
	case !b.in(payment.StatusAuthorized, payment.StatusPartiallySettled) || b.ended || b.finals > 0:
		return badStatus
	case b.limited(processor.Capture):
		return tooMany
	case c.Amount == nil && left == 0, c.Amount != nil && *c.Amount < 1:
		return invalid
	case c.Amount != nil && *c.Amount > left:
		b.recorded("", c.IdempotencyKey)
		b.hear(b.ask(item{kind: processor.Capture, amount: *c.Amount, stage: "refused"}), "refused", c.EventID)
		return "payment.capture_refused"
	case c.Amount == nil:
		c.Amount = &left
	}
	b.recorded("", c.IdempotencyKey)
	b.ask(item{kind: processor.Capture, amount: *c.Amount, final: c.Final})
	return "payment.capture_requested"
}

func (b *book) cancel(c payment.Cancel) string {
	no := b.guards(c.IdempotencyKey)
	if no == waits && (b.busy().kind == processor.Authorize || b.busy().kind == processor.Complete) {
		if b.wish && c.IdempotencyKey == "" {
			return nothing
		}
		b.wish = true
		return b.recorded("payment.cancellation_intended", c.IdempotencyKey)
	}
	switch {
	case no != "":
		return no
	case b.in(payment.StatusDeclined, payment.StatusFailed, payment.StatusCancelled):
		return badStatus
	case b.limited(processor.Void):
		return tooMany
	}
	left := b.left()
	b.recorded("", c.IdempotencyKey)
	b.ask(item{kind: processor.Void, amount: left})
	return "payment.void_requested"
}

// target finds the capture that an answer's id belongs to.
func (b *book) target(id string) *item {
	for _, i := range b.items {
		for _, known := range i.ids {
			if i.kind == processor.Capture && known == id {
				return i
			}
		}
	}
	return nil
}

func (b *book) refund(c payment.Refund) string {
	if no := b.guards(c.IdempotencyKey); no != "" {
		return no
	}
	switch {
	case !b.in(payment.StatusSettled, payment.StatusPartiallySettled, payment.StatusSettling):
		return badStatus
	case b.limited(processor.Refund):
		return tooMany
	}
	left, of := b.refundable(), uint64(0)
	if c.TransactionEventID != "" {
		capture := b.target(c.TransactionEventID)
		if capture == nil {
			return invalid
		}
		of, left = capture.revision, min(left, b.restOf(capture))
	}
	amount := left
	if c.Amount != nil {
		amount = *c.Amount
	}
	switch {
	case c.Amount != nil && amount < 1:
		return invalid
	case left == 0 || amount > left:
		b.recorded("", c.IdempotencyKey)
		b.hear(b.ask(item{kind: processor.Refund, amount: amount, of: of, stage: "refused"}), "refused", c.EventID)
		if b.refundable() == 0 && b.alive(processor.Capture) == 0 && b.alive(processor.Refund) == 0 {
			return forGood
		}
		return "payment.refund_refused"
	}
	b.recorded("", c.IdempotencyKey)
	b.ask(item{kind: processor.Refund, amount: amount, of: of})
	return "payment.refund_requested"
}

// restOf returns the part of a capture that can still be refunded.
func (b *book) restOf(capture *item) domain.Amount {
	if capture.stage != "yes" {
		return 0
	}
	rest := capture.amount
	for _, i := range b.items {
		if i.kind == processor.Refund && i.of == capture.revision && (i.live() || i.stage == "yes") {
			rest -= i.amount
		}
	}
	return max(0, rest)
}

func (b *book) adjust(c payment.Adjust) string {
	if b.sale == nil {
		return string(domain.ReasonEntityNotFound)
	}
	if no := b.guards(c.IdempotencyKey); no != "" {
		return no
	}
	switch {
	case b.in(payment.StatusPending):
		return string(domain.ReasonNotAuthorizedYet)
	case !b.in(payment.StatusAuthorized):
		return badStatus
	case !b.estimated:
		return string(domain.ReasonIncorrectAuthorizationType)
	case b.total == 0:
		return string(domain.ReasonAdjustNotSupported)
	case b.limited(processor.Adjust):
		return tooMany
	case c.Amount < 1 || c.Amount > domain.MaxAmount:
		return invalid
	case c.Amount != b.total:
		b.recorded("", c.IdempotencyKey)
		b.ask(item{kind: processor.Adjust, amount: c.Amount})
		return "payment.adjustment_requested"
	case c.IdempotencyKey != "":
		return b.recorded("payment.adjustment_unneeded", c.IdempotencyKey)
	}
	return nothing
}

// required reports whether the customer's action is required.
func (b *book) required() bool {
	return b.sale != nil && b.sale.stage == "acts" && b.alive(processor.Complete) == 0 && b.alive(processor.Void) == 0
}

func (b *book) resume(c payment.Resume, over bool) string {
	no := b.guards(c.IdempotencyKey)
	switch {
	case no != "" && no != waits:
		return no
	case b.alive(processor.Void) > 0:
		return waits
	case !b.required() && (b.sale.live() || b.alive(processor.Complete) > 0):
		return processing
	case !b.required():
		return badStatus
	case c.Action != b.sale.revision:
		return invalid
	case c.Expired && !over:
		return nothing
	}
	b.recorded("", c.IdempotencyKey)
	b.ask(item{kind: processor.Complete})
	return "payment.resumed"
}
