package paymentpages

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

// Asked returns the request that the event records, or refuses, with its amount and reason: "€5.00,
// with the reason “late”"; "" for an event without a request.
func (e entry) Asked(c domain.Currency) string {
	var fields struct {
		Amount          *domain.Amount
		Reason, Message string
	}
	refused := strings.HasSuffix(e.Type, "_refused")
	if !refused && !strings.HasSuffix(e.Type, "_requested") || json.Unmarshal(e.Event, &fields) != nil || fields.Amount == nil {
		return "" // the raw event is below
	}
	text := frame.Money(*fields.Amount, c)
	if refused {
		return text + " was requested. It was refused, and no processor was called: " + fields.Message
	}
	if fields.Reason != "" {
		text += ", with the reason “" + fields.Reason + "”"
	}
	return text
}

// Text says in words for what the payment waits or has waited: "The capture waited for the answer
// of the processor".
func (w wait) Text() string {
	noun := nouns[w.Operation]
	if noun == "" {
		noun = strings.ToLower(frame.Plain(w.Operation))
	}
	waits := "waits"
	if w.Over {
		waits = "waited"
	}
	text := "The " + noun + " " + waits + " for "
	switch payment.OperationState(w.State) {
	case payment.StateAction:
		return text + "the customer"
	case payment.StatePending:
		return text + "the result: the processor has accepted it"
	case payment.StateUnknown:
		return text + "its outcome: the processor did not answer in time"
	default:
		return text + "the answer of the processor"
	}
}

var nouns = map[processor.Kind]string{
	processor.Authorize: "authorization", processor.Capture: "capture", processor.Void: "cancel", processor.Refund: "refund",
	processor.Adjust: "adjustment", processor.Complete: "completion of the authorization",
}

// Told says to how many endpoints the event's webhooks came: "PAYMENT.STATUS with the status
// Settled: 4 of 5 endpoints accepted, 1 failed".
func (e entry) Told() string {
	counts := map[string]int{}
	for _, w := range e.Webhooks {
		counts[w.Outcome]++
	}
	kind := e.Webhooks[0].EventType
	if kind == "PAYMENT.STATUS" {
		kind += " with the status " + frame.Plain(e.Status())
	}
	text := fmt.Sprintf("%s: %d of %d endpoints accepted", kind, counts["SUCCEEDED"], len(e.Webhooks))
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		if outcome != "SUCCEEDED" {
			text += fmt.Sprintf(", %d %s", counts[outcome], strings.ToLower(frame.Plain(outcome)))
		}
	}
	return text
}
