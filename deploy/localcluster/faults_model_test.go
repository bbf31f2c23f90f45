//go:build system

package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// money is a payment as the model has it.
type money struct {
	authorized, released bool
	captured, refunded   int64
}

func (m money) status() string {
	switch {
	case !m.authorized:
		return "PENDING"
	case m.captured == 0 && m.released:
		return "CANCELLED"
	case m.captured == 0:
		return "AUTHORIZED"
	case m.released || m.captured == paymentSize:
		return "SETTLED"
	default:
		return "PARTIALLY_SETTLED"
	}
}

// after returns the payment after a change, or the reason why it is refused.
func (m money) after(c *call) (money, string) {
	status := m.status()
	open := status == "AUTHORIZED" || status == "PARTIALLY_SETTLED"
	switch {
	case c.kind == "create":
		m.authorized = true
	case c.kind == "cancel" && !open, c.kind == "capture" && !open, c.kind == "refund" && m.captured == 0:
		return m, "InvalidPaymentStatus"
	case c.kind == "cancel":
		m.released = true
	case c.kind == "capture" && c.amount > paymentSize-m.captured:
		return m, "RequestValidationError"
	case c.kind == "capture":
		m.captured += c.amount
	case m.refunded == m.captured:
		return m, "PaymentAlreadyRefunded"
	case c.amount > m.captured-m.refunded:
		return m, "UnprocessableRefundAmount"
	default:
		m.refunded += c.amount
	}
	return m, ""
}

// shows reports whether an answer shows the payment.
func (m money) shows(c *call) bool {
	return c.status == m.status() && c.saw.captured == m.captured && c.saw.refunded == m.refunded
}

// paymentModel is the sequential model of a payment.
var paymentModel = porcupine.Model{
	Init: func() any { return money{} },
	Step: func(state, _, output any) (bool, any) {
		m, c := state.(money), output.(*call)
		if c.kind == "get" || c.kind == "list" {
			return m.shows(c), m
		}
		next, reason := m.after(c)
		switch {
		case c.fate == refused:
			return reason == c.reason, m
		case reason != "":
			return false, m
		default:
			return c.late || next.shows(c), next
		}
	},
	DescribeOperation: func(_, output any) string {
		c := output.(*call)
		return fmt.Sprintf("client %d: %s %d %s → %s captured %d refunded %d %s late %v, fate %d", c.client, c.kind, c.amount, c.key, c.status, c.saw.captured, c.saw.refunded, c.reason, c.late, c.fate)
	},
}
