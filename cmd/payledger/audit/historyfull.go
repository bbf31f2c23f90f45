package audit

import (
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/projections/history"
)

func (e historyEntry) full() []string {
	position := "not yet in a checkpoint"
	if e.Position != nil {
		position = fmt.Sprintf("position %d", *e.Position)
	}
	lines := []string{
		fmt.Sprintf("     %s, command %s, request %s", e.Actor, e.CommandID, e.CorrelationID),
		fmt.Sprintf("     %s, hash %s", position, e.Hash),
	}
	for _, text := range besideLines(e.Beside, e.Payment.CurrencyCode) {
		lines = append(lines, "     "+text)
	}
	for _, w := range e.Waiting {
		lines = append(lines, "     "+waitingLine(w))
	}
	for _, n := range e.Notices {
		lines = append(lines, noticeLines(n)...)
	}
	return lines
}

// besideLines returns lines about the parts that are requested with expand (I1), in the order in
// which they happened.
func besideLines(b history.Beside, currency domain.Currency) (lines []string) {
	if w := b.Workflow; w != nil {
		lines = append(lines, fmt.Sprintf("workflow %s version %d, action %s of run %s, started by %s %s",
			outside(w.Name), w.Version, w.Action, w.RunID, w.Trigger.EventType, w.Trigger.EventID))
	}
	for _, c := range b.Processor {
		lines = append(lines, callLine(c, currency))
		lines = append(lines, rawLines(c.Answer)...)
	}
	if r := b.Routing; r != nil {
		candidates := make([]string, len(r.Candidates))
		for i, c := range r.Candidates {
			candidates[i] = targetText(c.Processor, c.MerchantID)
		}
		lines = append(lines, fmt.Sprintf("routing: %s of %s", r.Chosen.Processor, strings.Join(candidates, ", ")))
	}
	for _, w := range b.Webhooks {
		lines = append(lines, webhookLines(w)...)
	}
	for _, kind := range b.NoEndpoint {
		lines = append(lines, fmt.Sprintf("webhook %s: no endpoint was subscribed to it then", kind))
	}
	return lines
}

func targetText(name processor.Name, merchantID string) string {
	return string(name) + " " + outside(merchantID)
}

func callLine(c history.Call, currency domain.Currency) string {
	call := fmt.Sprintf("%s of %s, key %s", c.Operation, c.Amount.Format(currency), c.Key)
	switch {
	case c.Answer != nil:
		return fmt.Sprintf("answer of %s to %s%s%s%s%s%s", c.Processor, call, prefixed(", transaction ", outside(c.Answer.TransactionID)),
			prefixed(", event ", outside(c.Answer.ProcessorEventID)), prefixed(", code ", outside(c.Answer.Code)),
			prefixed(", ", outside(c.Answer.Message)), prefixed(", authorization code ", outside(c.Answer.AuthorizationCode)))
	case c.Step == history.CallUnanswered:
		return fmt.Sprintf("no answer of %s to %s", c.Processor, call)
	default:
		return fmt.Sprintf("call of %s: %s", targetText(c.Processor, c.MerchantID), call)
	}
}

func rawLines(answer *history.CallAnswer) (lines []string) {
	if answer == nil || answer.Raw == nil {
		return nil
	}
	raw := answer.Raw
	lines = append(lines, "  "+raw.Body)
	if raw.Additional != "" {
		lines = append(lines, "  not named by the protocol: "+raw.Additional)
	}
	if raw.Redacted {
		lines = append(lines, "  card data, personal data or a token was removed")
	}
	if raw.Cut {
		lines = append(lines, "  longer, cut")
	}
	return lines
}

func webhookLines(w history.Webhook) []string {
	text := fmt.Sprintf("webhook %s to endpoint %s: ", w.EventType, w.EndpointID)
	if w.Dropped {
		return []string{text + "older than deliveries are kept, dropped"}
	}
	if text += w.Outcome; w.NextAt != nil {
		text += ", next attempt at " + date(*w.NextAt)
	}
	lines := []string{text}
	for _, a := range w.Attempts {
		text := fmt.Sprintf("  attempt %d at %s, %d ms:", a.Number, date(a.StartedAt), a.Duration)
		if a.StatusCode != 0 {
			text += fmt.Sprintf(" status %d", a.StatusCode)
		}
		text += prefixed(" ", a.Failure) + prefixed(", answered ", outside(a.Excerpt))
		if a.Manual {
			text += ", requested by hand or by a replay"
		}
		lines = append(lines, text)
	}
	return lines
}

func waitingLine(w history.Waiting) string {
	text := fmt.Sprintf("waits for the processor: %s %s, %s, since %s", w.Operation, w.Key, w.State, date(w.Since))
	if w.ExpiresAt != nil {
		text = fmt.Sprintf("waits for the customer: %s %s, since %s, until %s", w.Operation, w.Key, date(w.Since), date(*w.ExpiresAt))
	}
	if w.AskedNext != nil {
		text += ", asked next at " + date(*w.AskedNext)
	}
	return text
}

func noticeLines(n history.Notice) []string {
	how := "reported by"
	if n.Found {
		how = "found at"
	}
	lines := []string{
		fmt.Sprintf("     %s %s: %s %s at %s, %s%s%s%s", how, n.Processor, n.Kind, n.ID, date(n.ReceivedAt), n.Outcome,
			prefixed(", dispute ", n.Dispute), prefixed(": ", n.Effect), prefixed(": ", n.Refusal)),
		fmt.Sprintf("       %s", n.Body),
	}
	if len(n.Additional) > 0 {
		lines = append(lines, fmt.Sprintf("       not named by the protocol: %s", n.Additional))
	}
	return lines
}
