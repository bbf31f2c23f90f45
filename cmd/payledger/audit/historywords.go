package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/exactjson"
)

type eventFields struct {
	Amount    *domain.Amount `json:"amount"`
	Route     []target       `json:"route"`
	To        target         `json:"to"`
	Failure   string         `json:"failure"`
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Name      string         `json:"name"`
	ExpiresAt time.Time      `json:"expiresAt"`
	Outcome   string         `json:"outcome"`
	Reason    string         `json:"reason"`
	Final     bool           `json:"final"`
	Overtaken bool           `json:"overtaken"`
	Intended  bool           `json:"intended"`
	Operation string         `json:"operation"`
	Payment   string         `json:"paymentId"`

	currency domain.Currency
}

type target struct {
	Processor string `json:"processor"`
}

// words returns the description of an event, which its line shows after the type; "" for an unknown
// type.
func (e historyEntry) words() (string, error) {
	fields := eventFields{currency: e.Payment.CurrencyCode}
	if err := exactjson.Unmarshal(e.Event, &fields); err != nil {
		return "", fmt.Errorf("history: event %d: %w", e.Revision, err)
	}
	if say := eventWords[e.Type]; say != nil {
		return say(fields), nil
	}
	return "", nil
}

var eventWords = map[string]func(eventFields) string{
	"payment.created":                 func(e eventFields) string { return e.amount() + " requested" + e.first() },
	"payment.authorized":              always("approved"),
	"payment.declined":                func(e eventFields) string { return e.why("by the issuer") },
	"payment.authorization_pending":   always("accepted, result later"),
	"payment.authorization_failed":    func(e eventFields) string { return e.why("nothing held") },
	"payment.authorization_timed_out": always(noAnswer),
	"payment.authorization_rerouted":  func(e eventFields) string { return "next is " + e.To.Processor + "; " + e.why("") },
	"payment.action_required": func(e eventFields) string {
		return e.Name + " until " + e.ExpiresAt.UTC().Format(time.DateTime)
	},
	"payment.resumed":              func(e eventFields) string { return e.Outcome },
	"payment.completion_failed":    func(e eventFields) string { return e.why("action still required") },
	"payment.completion_timed_out": always(noAnswer),

	"payment.capture_requested": func(e eventFields) string { return e.amount() + e.last() },
	"payment.capture_refused":   func(e eventFields) string { return e.amount() + " not requested: " + outside(e.Message) },
	"payment.captured":          always("taken"),
	"payment.capture_pending":   always("accepted, result later"),
	"payment.capture_failed":    func(e eventFields) string { return e.why("nothing taken") },
	"payment.capture_timed_out": always(noAnswer),

	"payment.cancellation_intended": func(e eventFields) string { return "after the authorization's answer" + e.reason() },
	"payment.void_requested":        func(e eventFields) string { return e.amount() + e.reason() },
	"payment.voided":                always("released"),
	"payment.void_pending":          always("accepted, result later"),
	"payment.void_failed": func(e eventFields) string {
		if e.Intended {
			return e.why("nothing released, the cancellation stays intended")
		}
		return e.why("nothing released")
	},
	"payment.void_timed_out": always(noAnswer),

	"payment.refund_requested": func(e eventFields) string { return e.amount() + e.reason() },
	"payment.refund_refused":   func(e eventFields) string { return e.amount() + " not requested: " + outside(e.Message) },
	"payment.refunded":         always("returned"),
	"payment.refund_pending":   always("accepted, result later"),
	"payment.refund_failed":    func(e eventFields) string { return e.why("nothing returned") },
	"payment.refund_timed_out": always(noAnswer),

	"payment.adjustment_requested": func(e eventFields) string { return "new total " + e.amount() },
	"payment.adjustment_unneeded":  always("this total is authorized already"),
	"payment.adjusted":             always("new total authorized"),
	"payment.adjustment_pending":   always("accepted, result later"),
	"payment.adjustment_failed":    func(e eventFields) string { return e.why("total unchanged") },
	"payment.adjustment_timed_out": always(noAnswer),

	"payment.key_claimed": func(e eventFields) string { return "for " + cmp.Or(e.Operation, "no payment") },

	"payment.capture_found": func(e eventFields) string { return e.amount() + e.last() + ", not requested here" },
	"payment.void_found":    func(e eventFields) string { return e.amount() + ", not requested here" },
	"payment.refund_found":  func(e eventFields) string { return e.amount() + ", not requested here" },
	"payment.adjustment_found": func(e eventFields) string {
		if e.Overtaken {
			return "total of " + e.amount() + " before a later adjustment, not requested here"
		}
		return "new total " + e.amount() + ", not requested here"
	},
}

// noAnswer is about an operation without an answer after the payment timeout (D8).
const noAnswer = "no answer, result unknown"

func always(words string) func(eventFields) string { return func(eventFields) string { return words } }

func (e eventFields) amount() string {
	if e.Amount == nil {
		return "an unknown amount"
	}
	return e.Amount.Format(e.currency)
}

func (e eventFields) first() string {
	if len(e.Route) == 0 {
		return ""
	}
	return " at " + e.Route[0].Processor
}

func (e eventFields) last() string {
	if e.Final {
		return ", final"
	}
	return ""
}

func (e eventFields) reason() string { return prefixed(", ", outside(e.Reason)) }

// outside returns a text of a merchant or a processor in quotation marks; "" for none.
func outside(text string) string {
	if text == "" {
		return ""
	}
	return quoted(text, 0)
}

func (e eventFields) why(words string) string {
	return strings.Join(slices.DeleteFunc([]string{words, e.Failure, outside(e.Code), outside(e.Message)}, func(part string) bool {
		return part == ""
	}), ", ")
}
