package apptest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// BesideSeen has the fields of an expanded entry that the test reads.
type BesideSeen struct {
	Revision int    `json:"revision"`
	Type     string `json:"type"`
	Webhooks []struct {
		EndpointID, EventType, Outcome string
		Dropped                        bool
		Attempts                       []struct {
			Number, StatusCode int
			Failure, Excerpt   string
		}
	} `json:"webhooks"`
	Processor []struct {
		Step, Operation, IdempotencyKey, Processor string
		Amount                                     int64
		Answer                                     *struct {
			Code string
			Raw  *struct{ Body string }
		}
	} `json:"processor"`
	Routing *struct {
		Candidates []struct{ Processor string }
		Chosen     struct{ Processor string }
	} `json:"routing"`
	Workflow *struct {
		Name, ActionID, RunID string
		Version               int
	} `json:"workflow"`
}

// String describes the calls, the routing and the workflow beside an event.
func (b BesideSeen) String() string {
	var calls []string
	for _, c := range b.Processor {
		text := fmt.Sprintf("%s %s %s at %s", c.Step, c.Operation, c.IdempotencyKey[strings.IndexByte(c.IdempotencyKey, '.'):], c.Processor)
		if c.Answer != nil && c.Answer.Code != "" {
			text += " " + c.Answer.Code
		}
		if c.Answer != nil && (c.Answer.Raw == nil || !json.Valid([]byte(c.Answer.Raw.Body))) {
			text += " without its body"
		}
		calls = append(calls, text)
	}
	var routing, workflow string
	if r := b.Routing; r != nil {
		routing = r.Chosen.Processor + " of"
		for _, c := range r.Candidates {
			routing += " " + c.Processor
		}
	}
	if w := b.Workflow; w != nil {
		workflow = fmt.Sprintf("%s %d %s", w.Name, w.Version, w.ActionID)
	}
	return fmt.Sprintf("%s: %s; %s; %s", b.Type, strings.Join(calls, ", "), routing, workflow)
}

// Sent describes the attempts of the only webhook beside an event.
func (b BesideSeen) Sent() string {
	if len(b.Webhooks) != 1 || b.Webhooks[0].Outcome != "SUCCEEDED" {
		return ""
	}
	var attempts []string
	for _, a := range b.Webhooks[0].Attempts {
		attempts = append(attempts, fmt.Sprintf("%d %s", a.StatusCode, a.Failure))
	}
	return strings.Join(attempts, ", ")
}

// Beside reads expanded entries.
func (m *Merchant) Beside(t *testing.T, path string) []BesideSeen {
	t.Helper()
	var answer struct{ Data []BesideSeen }
	m.Must(t, "GET", path, m.Headers(), nil).Decode(t, &answer)
	return answer.Data
}

// BesideWhen reads a history with all its parts until it is complete.
func (m *Merchant) BesideWhen(t *testing.T, path string, complete func([]BesideSeen) bool) (seen []BesideSeen) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(SettleDeadline); time.Now().Before(deadline); <-tick.C {
		if seen = m.Beside(t, path+"?expand=webhooks,processor&expand=routing,workflow"); complete(seen) {
			return seen
		}
	}
	t.Fatalf("the history is not complete: %+v", seen)
	return nil
}

// Scoped checks that webhooks need the scope events:read, and other parts do not (D2).
func (m *Merchant) Scoped(t *testing.T, path string) {
	t.Helper()
	var key struct{ APIKey string }
	m.Must(t, "POST", "/management/api-keys", m.Headers(), map[string]any{"name": "reader", "scopes": []string{"transactions:retrieve"}}).Decode(t, &key)
	reader := m.Headers()
	reader["X-API-KEY"] = key.APIKey
	for query, want := range map[string]int{"?expand=processor,routing,workflow": 200, "?expand=webhooks": 403} {
		if a, err := m.Call("GET", path+query, reader, nil); err != nil || a.Status != want || want == 403 && !strings.Contains(string(a.Body), "events:read") {
			t.Errorf("%s: %d %s, %v", query, a.Status, a.Body, err)
		}
	}
}
