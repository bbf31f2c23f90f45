package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"payledger/domain"
)

// full returns the lines about the event's request and its place, and about open operations and notifications.
func (e historyEntry) full() []string {
	position := "not yet in a checkpoint"
	if e.Position != nil {
		position = fmt.Sprintf("position %d", *e.Position)
	}
	lines := []string{
		fmt.Sprintf("     %s, command %s, request %s", e.Actor, e.CommandID, e.CorrelationID),
		fmt.Sprintf("     %s, hash %s", position, e.Hash),
	}
	for _, text := range e.besideLines(e.Payment.Currency) {
		lines = append(lines, "     "+text)
	}
	for _, w := range e.Waiting {
		lines = append(lines, "     "+w.String())
	}
	for _, n := range e.Notices {
		lines = append(lines, n.lines()...)
	}
	return lines
}

// historyBeside has the parts of an entry that are requested with expand (I1).
type historyBeside struct {
	Webhooks []historyWebhook `json:"webhooks"`
	Calls    []historyCall    `json:"processor"`
	Routing  *struct {
		Candidates []historyTarget `json:"candidates"`
		Chosen     historyTarget   `json:"chosen"`
	} `json:"routing"`
	Workflow *struct {
		Name    string `json:"name"`
		Version int64  `json:"version"`
		RunID   string `json:"runId"`
		Action  string `json:"actionId"`
		Trigger struct {
			EventType string `json:"eventType"`
			EventID   string `json:"eventId"`
		} `json:"trigger"`
	} `json:"workflow"`
}

// historyTarget is a merchant account at a processor.
type historyTarget struct {
	Processor  string `json:"processor"`
	MerchantID string `json:"processorMerchantId"`
}

// historyCall is a call of a processor.
type historyCall struct {
	Step      string `json:"step"`
	Operation string `json:"operation"`
	Key       string `json:"idempotencyKey"`
	historyTarget
	Amount domain.Amount `json:"amount"`
	Answer *struct {
		TransactionID     string `json:"processorTransactionId"`
		EventID           string `json:"processorEventId"`
		Code              string `json:"code"`
		Message           string `json:"message"`
		AuthorizationCode string `json:"authorizationCode"`
		Raw               *struct {
			Body       string `json:"body"`
			Additional string `json:"additional"`
			Redacted   bool   `json:"redacted"`
			Cut        bool   `json:"cut"`
		} `json:"raw"`
	} `json:"answer"`
}

// historyWebhook is a webhook that the event caused, for one endpoint.
type historyWebhook struct {
	EndpointID string     `json:"endpointId"`
	EventType  string     `json:"eventType"`
	Dropped    bool       `json:"dropped"`
	Outcome    string     `json:"outcome"`
	NextAt     *time.Time `json:"nextAttemptAt"`
	Attempts   []struct {
		Number     int       `json:"number"`
		StartedAt  time.Time `json:"startedAt"`
		Duration   int64     `json:"durationMs"`
		StatusCode int       `json:"statusCode"`
		Failure    string    `json:"failure"`
		Manual     bool      `json:"manual"`
		Excerpt    string    `json:"excerpt"`
	} `json:"attempts"`
}

// besideLines returns lines about the parts, in the order in which they happened.
func (b historyBeside) besideLines(currency domain.Currency) (lines []string) {
	if w := b.Workflow; w != nil {
		lines = append(lines, fmt.Sprintf("workflow %s version %d, action %s of run %s, started by %s %s",
			outside(w.Name), w.Version, w.Action, w.RunID, w.Trigger.EventType, w.Trigger.EventID))
	}
	for _, c := range b.Calls {
		lines = append(lines, c.line(currency))
		lines = append(lines, c.rawLines()...)
	}
	if r := b.Routing; r != nil {
		candidates := make([]string, len(r.Candidates))
		for i, c := range r.Candidates {
			candidates[i] = c.String()
		}
		lines = append(lines, fmt.Sprintf("routing: %s of %s", r.Chosen.Processor, strings.Join(candidates, ", ")))
	}
	for _, w := range b.Webhooks {
		lines = append(lines, w.lines()...)
	}
	return lines
}

// String returns the processor with the merchant account.
func (t historyTarget) String() string { return t.Processor + " " + outside(t.MerchantID) }

// line returns one line.
func (c historyCall) line(currency domain.Currency) string {
	call := fmt.Sprintf("%s of %s, key %s", c.Operation, c.Amount.Format(currency), c.Key)
	switch {
	case c.Answer != nil:
		return fmt.Sprintf("answer of %s to %s%s%s%s%s%s", c.Processor, call, prefixed(", transaction ", outside(c.Answer.TransactionID)),
			prefixed(", event ", outside(c.Answer.EventID)), prefixed(", code ", outside(c.Answer.Code)),
			prefixed(", ", outside(c.Answer.Message)), prefixed(", authorization code ", outside(c.Answer.AuthorizationCode)))
	case c.Step == "NO_ANSWER":
		return fmt.Sprintf("no answer of %s to %s", c.Processor, call)
	default:
		return fmt.Sprintf("call of %s: %s", c.historyTarget, call)
	}
}

// rawLines returns the lines of the answer's body.
func (c historyCall) rawLines() (lines []string) {
	if c.Answer == nil || c.Answer.Raw == nil {
		return nil
	}
	raw := c.Answer.Raw
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

// lines returns a line for the webhook and one for each attempt.
func (w historyWebhook) lines() []string {
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

// historyWaiting is an open operation or action after the event (D7, D8).
type historyWaiting struct {
	Operation string     `json:"operation"`
	Key       string     `json:"key"`
	State     string     `json:"state"`
	Since     time.Time  `json:"since"`
	ExpiresAt *time.Time `json:"expiresAt"`
	AskedNext *time.Time `json:"askedNext"`
}

// String returns one line.
func (w historyWaiting) String() string {
	text := fmt.Sprintf("waits for the processor: %s %s, %s, since %s", w.Operation, w.Key, w.State, date(w.Since))
	if w.ExpiresAt != nil {
		text = fmt.Sprintf("waits for the customer: %s %s, since %s, until %s", w.Operation, w.Key, date(w.Since), date(*w.ExpiresAt))
	}
	if w.AskedNext != nil {
		text += ", asked next at " + date(*w.AskedNext)
	}
	return text
}

// historyNotice is a processor's notification (D14.5).
type historyNotice struct {
	ID         string          `json:"id"`
	Processor  string          `json:"processor"`
	Kind       string          `json:"kind"`
	ReceivedAt time.Time       `json:"receivedAt"`
	Found      bool            `json:"found"`
	Outcome    string          `json:"outcome"`
	Effect     string          `json:"effect"`
	Dispute    string          `json:"disputeId"`
	Refusal    string          `json:"refusal"`
	Body       json.RawMessage `json:"body"`
	Additional json.RawMessage `json:"additional"`
}

// lines returns the notification's outcome, and its body below.
func (n historyNotice) lines() []string {
	how := "told by"
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
