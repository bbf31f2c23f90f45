//go:build system

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// money is a payment as the model has it.
type money struct {
	authorized, released bool
	captured, refunded   int64
	changes              string // keys of the changes that took effect, sorted
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
	m.changes = withKey(m.changes, c.key)
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
		switch c.kind {
		case "get", "list":
			return m.shows(c), m
		case "answer":
			return slices.Contains(strings.Fields(m.changes), c.key) && m.shows(c), m
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

func withKey(keys, key string) string {
	all := append(strings.Fields(keys), key)
	slices.Sort(all)
	return strings.Join(all, " ")
}

// parted returns the operations with each answered change as two: the change, and the reading of
// the payment for its answer, later. If the node that answers learns late that the outcome is
// recorded, a change made in between is in the answer.
func parted(operations []porcupine.Operation) (parts []porcupine.Operation) {
	for _, o := range operations {
		c := o.Output.(*call)
		if c.fate == done && !c.late && c.key != "" {
			change, reading := *c, *c
			change.late, reading.kind = true, "answer"
			o.Input, o.Output = &change, &change
			parts = append(parts, porcupine.Operation{ClientId: o.ClientId, Input: &reading, Call: o.Call, Output: &reading, Return: o.Return})
		}
		parts = append(parts, o)
	}
	return parts
}

// newer is the result of operations that fit an order if an answer may show later changes, too.
const newer porcupine.CheckResult = "Newer"

// ordered reports whether the operations of a payment fit an order.
func ordered(operations []porcupine.Operation) porcupine.CheckResult {
	const limit = 20 * time.Second
	result := porcupine.CheckOperationsTimeout(paymentModel, operations, limit)
	if result == porcupine.Illegal {
		if result = porcupine.CheckOperationsTimeout(paymentModel, parted(operations), limit); result == porcupine.Ok {
			return newer
		}
	}
	return result
}

// TestOrdered: an answer may show what others changed before it was given, and never less than its
// own change or an earlier one.
func TestOrdered(t *testing.T) {
	t.Parallel()
	at := func(client int, from, to int64, kind string, amount int64, status string, captured, refunded int64) porcupine.Operation {
		c := &call{client: client, kind: kind, amount: amount, status: status, saw: money{captured: captured, refunded: refunded}, fate: done}
		if kind != "get" {
			c.key = fmt.Sprint(kind, from)
		}
		return porcupine.Operation{ClientId: client, Input: c, Call: from, Output: c, Return: to}
	}
	create := at(0, 0, 1, "create", paymentSize, "AUTHORIZED", 0, 0)
	refund := at(2, 4, 6, "refund", 30, "PARTIALLY_SETTLED", 100, 30)
	for _, row := range []struct {
		name       string
		operations []porcupine.Operation
		want       porcupine.CheckResult
	}{
		{"one after the other", []porcupine.Operation{create, at(1, 2, 3, "capture", 100, "PARTIALLY_SETTLED", 100, 0), refund}, porcupine.Ok},
		{"a capture shows the refund that came before its answer", []porcupine.Operation{create, at(1, 2, 7, "capture", 100, "PARTIALLY_SETTLED", 100, 30), refund}, newer},
		{"a capture shows a refund that began after its answer", []porcupine.Operation{create, at(1, 2, 3, "capture", 100, "PARTIALLY_SETTLED", 100, 30), refund}, porcupine.Illegal},
		{"a capture does not show itself", []porcupine.Operation{create, at(1, 2, 3, "capture", 100, "AUTHORIZED", 0, 0), refund}, porcupine.Illegal},
		{"a refund does not show the capture before it", []porcupine.Operation{create, at(1, 2, 3, "capture", 100, "PARTIALLY_SETTLED", 100, 0), at(2, 4, 6, "refund", 30, "PARTIALLY_SETTLED", 30, 30)}, porcupine.Illegal},
		{"a read shows less than an answer before it", []porcupine.Operation{create, at(1, 2, 7, "capture", 100, "PARTIALLY_SETTLED", 100, 30), refund, at(3, 8, 9, "get", 0, "PARTIALLY_SETTLED", 100, 0)}, porcupine.Illegal},
	} {
		if got := ordered(row.operations); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}
