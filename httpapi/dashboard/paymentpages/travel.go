package paymentpages

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

// moment is what everybody knew after one event, until the next one.
type moment struct {
	At        time.Time
	Type      string
	Payment   paymentData
	JSON      json.RawMessage // the Payment JSON
	Accepted  []accepted      // webhooks that the merchant had accepted, newest first
	Processor []processorCall // what each operation's processor had been sent and had answered, oldest first
}

type accepted struct {
	At                    time.Time
	EventType, EndpointID string
	Status                string // the payment's status in the webhook
	Revision              uint64
}

// travel chooses the revision that the page shows: the newest one if at is empty.
func (v *view) travel(at string) error {
	if len(v.Entries) == 0 {
		return nil
	}
	last := len(v.Entries) - 1
	v.At = v.Entries[last].Revision
	if at != "" {
		n, err := strconv.ParseUint(at, 10, 64)
		if err != nil || n < v.Entries[0].Revision || n > v.At {
			return &frame.Failure{Status: 404, ID: "NotFound", Text: fmt.Sprintf("The payment has the revisions %d to %d.", v.Entries[0].Revision, v.At), Advice: "Choose one of them."}
		}
		v.At = n
	}
	v.Newest = !v.Partial && v.At == v.Entries[last].Revision
	var until *time.Time
	for i, e := range v.Entries {
		if e.Revision == v.At {
			v.Then.At, v.Then.Type, v.Then.JSON = e.Time, e.Type, e.Payment
			if i < last {
				until = &v.Entries[i+1].Time
			}
		}
	}
	if err := json.Unmarshal(v.Then.JSON, &v.Then.Payment); err != nil {
		return fmt.Errorf("paymentpages: a payment in the history: %w", err)
	}
	v.Then.Accepted, v.Then.Processor = v.accepted(until), v.calls()
	return nil
}

// accepted returns the webhooks that were accepted before until; nil: by now.
func (v *view) accepted(until *time.Time) (all []accepted) {
	for _, e := range v.Entries {
		var p struct{ Status string }
		_ = json.Unmarshal(e.Payment, &p) // "" is shown
		for _, w := range e.Webhooks {
			for _, a := range w.Attempts {
				if a.Failure == "" && (until == nil || a.StartedAt.Before(*until)) {
					all = append([]accepted{{a.StartedAt, w.EventType, w.EndpointID, p.Status, e.Revision}}, all...)
					break
				}
			}
		}
	}
	return all
}

func (v *view) calls() (all []processorCall) {
	place := map[string]int{}
	for _, e := range v.Entries {
		if e.Revision > v.At {
			break
		}
		for _, c := range e.Processor {
			if i, known := place[c.IdempotencyKey]; known {
				all[i] = c
				continue
			}
			place[c.IdempotencyKey] = len(all)
			all = append(all, c)
		}
	}
	return all
}

// Believed says in words what the processor believed about an operation.
func (c processorCall) Believed() string {
	kind := nouns[processor.Kind(c.Operation)]
	switch {
	case c.Step == "REQUESTED":
		return fmt.Sprintf("The %s was being sent; there was no answer yet.", kind)
	case c.Step == "NO_ANSWER":
		return fmt.Sprintf("No answer about the %s within the payment timeout. The outcome was unknown and was being looked up.", kind)
	case c.Answer != nil && c.Answer.Code != "":
		return fmt.Sprintf("It answered the %s with %s: %s", kind, c.Answer.Code, c.Answer.Message)
	default:
		return fmt.Sprintf("It accepted the %s.", kind)
	}
}
