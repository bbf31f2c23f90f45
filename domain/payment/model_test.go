package payment_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

// model says in one word how far a payment is. It knows nothing of operations, events or answers.
type model struct {
	stage    string // "", "asked", "late" (timed out), "waits" (pending), or a final status
	accepted int
}

func (m model) final() bool {
	return m.stage != "" && m.stage != "asked" && m.stage != "late" && m.stage != "waits"
}

func (m model) status() payment.Status {
	if m.final() {
		return payment.Status(m.stage)
	}
	return payment.StatusPending
}

// machine plays random commands on the rules and on the model.
type machine struct {
	model  model
	state  payment.State
	events []payment.Event
	clock  time.Time
	given  []handedOut
}

// handedOut is a state as somebody got it, and what it said then.
type handedOut struct {
	state payment.State
	text  string
}

func textOf(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// step folds an event, or sees that a refusal came with none.
func (m *machine) step(t *rapid.T, event payment.Event, err error, stage string) {
	if err != nil {
		t.Fatalf("refused in stage %q: %v", m.model.stage, err)
	}
	m.given = append(m.given, handedOut{m.state, textOf(t, m.state)})
	m.model.stage, m.model.accepted = stage, m.model.accepted+1
	m.events = append(m.events, event)
	m.state = payment.Evolve(m.state, event)
}

func (m *machine) refused(t *rapid.T, event payment.Event, err, want error) {
	if event != nil || !errors.Is(err, want) {
		t.Fatalf("in stage %q: %v, %v; expected %v", m.model.stage, event, err, want)
	}
}

func (m *machine) tick(t *rapid.T) time.Time {
	m.clock = m.clock.Add(time.Duration(rapid.IntRange(-2000, 2000).Draw(t, "ms")) * time.Millisecond)
	return m.clock
}

func (m *machine) create(t *rapid.T) {
	c := payment.Create{
		At: m.tick(t), ID: "01payment", Account: "acct",
		OrderID:        rapid.SampledFrom([]string{"order-1", "order-2", "order-3", ""}).Draw(t, "order"),
		Currency:       rapid.SampledFrom([]domain.Currency{"EUR", "JPY", "XAU", ""}).Draw(t, "currency"),
		IdempotencyKey: rapid.SampledFrom([]string{"key-1", ""}).Draw(t, "key"),
	}
	if rapid.IntRange(0, 3).Draw(t, "with amount") > 0 {
		c.Amount = new(domain.Amount(rapid.Int64Range(0, int64(domain.MaxAmount)).Draw(t, "amount")))
	}
	if rapid.IntRange(0, 3).Draw(t, "with route") > 0 {
		c.Route = []payment.Target{{Processor: processor.Adyen, MerchantID: "m"}}
	}
	event, err := payment.DecideCreate(m.state, c)
	var want domain.Reason
	switch {
	case m.model.stage != "" && c.IdempotencyKey != "":
		want = domain.ReasonIdempotencyKeyExists
	case m.model.stage != "":
		want = domain.ReasonPayment
	case c.OrderID == "" || c.Currency == "" || c.Amount == nil:
		want = domain.ReasonRequestValidation
	case c.Route == nil:
		want = domain.ReasonPayment
	default:
		m.step(t, event, err, "asked")
		return
	}
	if event != nil || domain.ReasonOf(err) != want {
		t.Fatalf("create in stage %q: %v, %v; expected %s", m.model.stage, event, err, want)
	}
}

// request draws the revision that an answer names: mostly the one that there is.
func request(t *rapid.T) uint64 {
	return rapid.SampledFrom([]uint64{1, 1, 1, 1, 0, 2, 3}).Draw(t, "request")
}

func (m *machine) answer(t *rapid.T) {
	stages := map[processor.State]string{
		processor.Succeeded: "AUTHORIZED", processor.Declined: "DECLINED", processor.Failed: "FAILED",
		processor.Pending: "waits", processor.ActionRequired: "waits",
	}
	a := processor.Answer{
		State: rapid.SampledFrom([]processor.State{
			processor.Succeeded, processor.Declined, processor.Failed, processor.Pending, processor.ActionRequired,
		}).Draw(t, "answer"),
		ProcessorTransactionID: rapid.SampledFrom([]string{"", "t-1"}).Draw(t, "transaction"),
		Code:                   rapid.SampledFrom([]string{"", "05", "41", processor.CodeFenced, processor.CodeRejected}).Draw(t, "code"),
	}
	if rapid.Bool().Draw(t, "with details") {
		a.Bin, a.Risk = &processor.BinData{Network: domain.NetworkVisa}, &processor.Risk{CVVResult: "MATCHED"}
	}
	revision := request(t)
	event, err := payment.DecideAuthorization(m.state, payment.RecordAuthorization{
		At: m.tick(t), EventID: "event", Request: revision, Answer: a,
	})
	switch stage := stages[a.State]; {
	case m.model.stage == "" || revision != 1:
		m.refused(t, event, err, payment.ErrNoSuchOperation)
	case m.model.final(), stage == "waits" && m.model.stage == "waits":
		m.refused(t, event, err, payment.ErrAlreadyAnswered)
	default:
		m.step(t, event, err, stage)
	}
}

func (m *machine) timeOut(t *rapid.T) {
	revision := request(t)
	event, err := payment.DecideTimeOut(m.state, payment.TimeOut{At: m.tick(t), Request: revision})
	switch {
	case m.model.stage == "" || revision != 1:
		m.refused(t, event, err, payment.ErrNoSuchOperation)
	case m.model.stage != "asked":
		m.refused(t, event, err, payment.ErrAlreadyAnswered)
	default:
		m.step(t, event, err, "late")
	}
}

// look takes the view of a caller who is let go; nothing may change by it.
func (m *machine) look(t *rapid.T) {
	before := textOf(t, m.state)
	view := m.state.Unanswered(request(t))
	if view.Status() != m.state.Status() {
		t.Fatalf("%s is shown as %s", m.state.Status(), view.Status())
	}
	if after := textOf(t, m.state); after != before {
		t.Fatalf("looking changed\n%s\nto\n%s", before, after)
	}
}

// check holds after every command.
func (m *machine) check(t *rapid.T) {
	if err := m.state.Check(); err != nil {
		t.Fatal(err)
	}
	if got := m.state.Status(); got != m.model.status() {
		t.Fatalf("status %s in stage %q", got, m.model.stage)
	}
	reason := m.state.StatusReason()
	if unhappy := m.model.stage == "late" || m.model.stage == "DECLINED" || m.model.stage == "FAILED"; (reason != nil) != unhappy {
		t.Fatalf("reason %v in stage %q", reason, m.model.stage)
	}
	if int(m.state.Revision) != m.model.accepted {
		t.Fatalf("revision %d after %d events", m.state.Revision, m.model.accepted)
	}
	if n := len(m.given); n > 0 && !m.state.UpdatedAt.After(m.given[n-1].state.UpdatedAt) {
		t.Fatalf("dateUpdated went from %s to %s", m.given[n-1].state.UpdatedAt, m.state.UpdatedAt)
	}
	var folded payment.State
	for _, e := range m.events {
		folded = payment.Evolve(folded, e)
	}
	if !reflect.DeepEqual(folded, m.state) {
		t.Fatalf("folded anew the payment is\n%s\nnot\n%s", textOf(t, folded), textOf(t, m.state))
	}
	for _, h := range m.given {
		if now := textOf(t, h.state); now != h.text {
			t.Fatalf("a state that was handed out changed from\n%s\nto\n%s", h.text, now)
		}
	}
}

// TestRandomLives: random commands, taken and refused as the model says.
func TestRandomLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "answer": m.answer, "timeOut": m.timeOut, "look": m.look, "": m.check,
		})
	})
}
