package eventjson

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/codec"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/projections/paymentjson"
)

// modelShown is the plain form of the rules of hidden.go: it works on decoded values, and
// encoding/json writes its result.
func modelShown(v any) any {
	switch v := v.(type) {
	case time.Time:
		return paymentjson.Time{Time: v} // the zero time is null, in a list
	case map[string]any:
		for name, field := range v {
			text, isText := field.(string)
			switch {
			case modelHides(name, field), NoValue(name, field):
				delete(v, name)
			case isText && credentials[name]:
				v[name] = Fingerprint(text)
			case isText && name == ownJSON && json.Valid([]byte(text)):
				v[name] = json.RawMessage(text)
			case name != untouched:
				v[name] = modelShown(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = modelShown(v[i])
		}
	}
	return v
}

func modelHides(name string, value any) bool {
	if hidden[name] {
		return true
	}
	switch value := value.(type) {
	case []byte:
		return true
	case string:
		return name == "first6Digits"
	case map[string]any:
		_, sealed := value["box"]
		return sealed && name != untouched
	}
	return false
}

// model decodes a stored event or state, and returns its shown fields.
func model(t *testing.T, stored []byte, id string) (decoded map[string]any) {
	t.Helper()
	if err := codec.UnmarshalGeneric(stored, &decoded); err != nil {
		t.Fatal(err)
	}
	modelShown(decoded)
	if _, own := decoded["id"].(string); own && id != "" {
		decoded["id"] = id
	}
	return decoded
}

func marshal(t *testing.T, v any, html bool) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// modelEvent has the fields of an event in the order of the JSON.
type modelEvent struct {
	Position    uint64               `json:"position"`
	ID          string               `json:"id"`
	Type        string               `json:"type"`
	Time        paymentjson.Time     `json:"time"`
	AccountID   domain.AccountID     `json:"accountId"`
	Aggregate   string               `json:"aggregate"`
	AggregateID string               `json:"aggregateId"`
	Revision    uint64               `json:"revision"`
	Actor       string               `json:"actor"`
	Hash        string               `json:"hash"`
	Event       map[string]any       `json:"event"`
	Payment     *paymentjson.Payment `json:"payment,omitempty"`
	Held        *domain.Amount       `json:"amountHeld,omitempty"`
	Session     map[string]any       `json:"session,omitempty"`
	Instrument  map[string]any       `json:"instrument,omitempty"`
	Attempt     map[string]any       `json:"attempt,omitempty"`
	Account     map[string]any       `json:"account,omitempty"`
	Dispute     map[string]any       `json:"dispute,omitempty"`
	Inbox       map[string]any       `json:"inbox,omitempty"`
	Person      map[string]any       `json:"person,omitempty"`
	Workflow    map[string]any       `json:"workflow,omitempty"`
	WorkflowRun map[string]any       `json:"workflowRun,omitempty"`
	Webhook     map[string]any       `json:"webhook,omitempty"`
}

// same checks an event against the model: its JSON, its fact and its state, with and without
// escaped HTML.
func same(t *testing.T, e Event) {
	t.Helper()
	m := modelEvent{
		e.Position, e.ID, e.Type, e.Time, e.AccountID, e.Aggregate, e.AggregateID, e.Revision, e.Actor, e.Hash, model(t, e.fact, e.ownID),
		e.Payment, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
	}
	if e.Payment != nil {
		m.Held = &e.Held
	}
	var state map[string]any
	if len(e.state) > 0 {
		state = model(t, e.state, e.ownID)
	}
	place := map[string]*map[string]any{
		"session": &m.Session, "instrument": &m.Instrument, "attempt": &m.Attempt, "account": &m.Account, "dispute": &m.Dispute,
		"inbox": &m.Inbox, "person": &m.Person, "workflow": &m.Workflow, "workflow_run": &m.WorkflowRun, "webhook": &m.Webhook,
	}[e.Aggregate]
	if place != nil {
		*place = state
	}
	for _, html := range []bool{false, true} {
		for name, one := range map[string]struct {
			write func([]byte, bool) ([]byte, error)
			want  any
		}{"event": {e.Append, m}, "fact": {e.AppendFact, m.Event}, "state": {e.AppendState, state}} {
			got, err := one.write([]byte("before"), html)
			if want := "before" + marshal(t, one.want, html); err != nil || string(got) != want {
				t.Fatalf("%s %s, HTML escaped %t: %v\n%s\nwant\n%s", e.Aggregate, name, html, err, got, want)
			}
		}
	}
	if got := marshal(t, e, true); got != marshal(t, m, true) {
		t.Errorf("encoding/json writes %s", got)
	}
}

// TestModelGolden: events and states of all types have the same JSON as in the model.
func TestModelGolden(t *testing.T) {
	t.Parallel()
	events := eventstoretest.Golden(t, "../../eventstore/engine/testdata/golden")
	if len(events) < len(Types()) {
		t.Fatalf("%d events of %d types", len(events), len(Types()))
	}
	for _, r := range events {
		fact, state, err := format.Bodies(r)
		if err != nil {
			t.Fatal(r.Type, err)
		}
		e := Event{Position: 7, ID: "id", Type: "type", Time: paymentjson.Time{Time: time.Unix(1, 2345)}, Aggregate: r.Aggregate, Actor: "<a>", fact: fact, state: state}
		if bearers[r.Aggregate] {
			e.ownID = Fingerprint("id")
		}
		same(t, e)
	}
}

// TestModelRandom checks that random values with any names and kinds have the same JSON as in the
// model.
func TestModelRandom(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		fact, err := codec.Marshal(randomMap(random, 4))
		if err != nil {
			t.Fatal(err)
		}
		state, err := codec.Marshal(randomMap(random, 4))
		if err != nil {
			t.Fatal(err)
		}
		e := Event{Time: paymentjson.Time{Time: time.Unix(1, 2345)}, Aggregate: []string{"session", "dispute", "workflow_run", "log"}[random.IntN(4)], Actor: randomText(random), fact: fact, state: state}
		if bearers[e.Aggregate] {
			e.ownID = Fingerprint("x")
		}
		if e.Aggregate == "log" {
			e.state = nil
		}
		same(t, e)
	}
	e := Event{Time: paymentjson.Time{Time: time.Unix(1, 2345)}, Aggregate: "payment", fact: []byte{0xc0}, Payment: &paymentjson.Payment{OrderID: "<&>\u2028", Metadata: domain.Metadata{"a": "<"}}}
	same(t, e)
	e.Held = domain.MaxAmount
	same(t, e)
}

var randomNames = []string{
	"a", "b", "id", "url", "body", "box", "metadata", "options", "sessionId", "token", "first6Digits", "é", "<n>", "\"", "personal", "",
}

func randomMap(random *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range random.IntN(7) {
		m[randomNames[random.IntN(len(randomNames))]] = randomValue(random, depth-1)
	}
	return m
}

func randomText(random *rand.Rand) string {
	texts := []string{"", "plain", "<b>&\u2028\u2029", "\x00\x1f\x7f\b\f\n\r\t\\\"", "é€😀", "\xff\xc3(", `{ "a" : [ 1.0, "<" , "` + "\u2028" + `" ] }`, `"text"`, "null", "{"}
	return texts[random.IntN(len(texts))] + strings.Repeat("x", random.IntN(2)*random.IntN(300))
}

func randomValue(random *rand.Rand, depth int) any {
	switch pick := random.IntN(11); {
	case pick == 0:
		return nil
	case pick == 1:
		return random.IntN(2) == 0
	case pick == 2:
		return int64(random.Uint64()) >> random.IntN(64)
	case pick == 3:
		return random.Uint64() >> random.IntN(64)
	case pick == 4:
		return []float64{0, 1, -1.5, 1e21, 1e-7, 123456.789, math.MaxFloat64}[random.IntN(7)]
	case pick == 5:
		return []byte(randomText(random))
	case pick == 6 && random.IntN(4) == 0:
		return time.Time{}
	case pick == 6:
		return time.Unix(random.Int64N(1<<34), random.Int64N(1e9)*random.Int64N(2)).UTC()
	case pick == 7 && depth > 0:
		list := make([]any, random.IntN(4))
		for i := range list {
			list[i] = randomValue(random, depth-1)
		}
		return list
	case pick == 8 && depth > 0:
		return randomMap(random, depth)
	default:
		return randomText(random)
	}
}

// TestMalformed: bytes that are cut off or of another form are an error.
func TestMalformed(t *testing.T) {
	t.Parallel()
	whole, err := codec.Marshal(map[string]any{"a": []any{int64(1000), "text", map[string]any{"at": time.Unix(1, 2), "f": 1.5}}, "b": []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if text, err := (Event{fact: whole[:n]}).AppendFact(nil, false); err == nil {
			t.Errorf("%d bytes: %s", n, text)
		}
	}
	for _, bad := range [][]byte{{0x81, 0x01, 0x01}, {0x90}, {0x81, 0xa1, 'a', 0xd4, 5, 0}, {0x81, 0xa1, 'a', 0xc1}} {
		if text, err := (Event{fact: bad}).AppendFact(nil, false); err == nil {
			t.Errorf("%x: %s", bad, text)
		}
	}
}
