package payment_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/domain/webhook"
)

// machine plays random commands on the rules and on the model.
type machine struct {
	book   *book
	state  payment.State
	bare   payment.State // state, folded from the newest state in the log, without the earlier events
	events []payment.Event
	clock  time.Time
	given  []handedOut
	wish   cancelled
}

// handedOut is a state that a caller has, and its text at that time.
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

// step compares the decision with the model's, and folds the event.
func (m *machine) step(t *rapid.T, event payment.Event, err error, want string) {
	got := outcome(t, event, err)
	if got != want {
		t.Fatalf("a payment that is %s: %s, and the model says %s", m.state.Status(), got, want)
	}
	if event == nil {
		return
	}
	m.given = append(m.given, handedOut{m.state, textOf(t, m.state)})
	m.events = append(m.events, event)
	before := m.state.Status()
	m.state = payment.Evolve(m.state, event)
	if !isTold(event, before, m.state) {
		t.Fatalf("%s changes the status from %s to %s without PAYMENT.STATUS", event.Type(), before, m.state.Status())
	}
	m.bare = payment.Evolve(m.bare, event)
	left, some := m.state.NewestFinished()
	alone, also := m.bare.NewestFinished()
	m.bare.Past = nil
	full := m.state
	full.Past = nil
	if some != also || textOf(t, left) != textOf(t, alone) || !reflect.DeepEqual(m.bare, full) {
		t.Fatalf("without its past %s makes of the payment\n%s, from which leaves %s,\nnot\n%s, from which leaves %s", event.Type(),
			textOf(t, m.bare), textOf(t, alone), textOf(t, full), textOf(t, left))
	}
	for when := webhook.Always; when <= webhook.ActionAppears; when++ {
		if got, want := when.Holds(before, m.bare), when.Holds(before, m.state); got != want && !when.NeedsPast() {
			t.Fatalf("without its past, condition %d of a webhook is %t after %s, not %t", when, got, event.Type(), want)
		}
	}
}

// outcome is a decision in the model's words. A refusal comes without an event.
func outcome(t *rapid.T, event payment.Event, err error) string {
	if err != nil && event != nil {
		t.Fatalf("refused with %v, and recorded %s", err, event.Type())
	}
	switch {
	case err == nil && event == nil:
		return nothing
	case err == nil:
		if refused, is := event.(payment.RefundRefused); is && refused.Nothing {
			return forGood
		}
		return event.Type()
	case errors.Is(err, payment.ErrRunning):
		return waits
	case errors.Is(err, payment.ErrAlreadyAnswered):
		return answered
	case errors.Is(err, payment.ErrNoSuchOperation):
		return noSuch
	case errors.Is(err, payment.ErrForeign):
		return foreign
	case errors.Is(err, payment.ErrOtherTransaction):
		return strange
	case errors.Is(err, processor.ErrUnknown):
		return unheard
	}
	return string(domain.ReasonOf(err))
}

func (m *machine) tick(t *rapid.T) time.Time {
	m.clock = m.clock.Add(time.Duration(rapid.IntRange(-2000, 3_000_000).Draw(t, "ms")) * time.Millisecond)
	m.book.now = m.clock
	return m.clock
}

func (m *machine) request(t *rapid.T) payment.Request {
	return payment.Request{
		At: m.tick(t), EventID: fmt.Sprintf("event-%d", m.state.Revision+1),
		IdempotencyKey: rapid.SampledFrom([]string{"", "", "", "", "", "key-1", "key-2", "key-3", "key-4", "key-5", "key-6"}).Draw(t, "key"),
	}
}

// amount draws an amount near the amount left and near zero; nil for no amount.
func amount(t *rapid.T, left domain.Amount) *domain.Amount {
	choices := []domain.Amount{1, 1, left / 2, left / 3, left - 1, left, left + 1, 0, -1, domain.MaxAmount}
	n := rapid.IntRange(-3, len(choices)-1).Draw(t, "amount")
	if n < 0 {
		return nil
	}
	return &choices[n]
}

// create requests a payment, mostly a valid one.
func (m *machine) create(t *rapid.T) {
	c := payment.Create{
		At: m.tick(t), ID: "01payment", Account: "acct", OrderID: "order-1",
		Currency:       rapid.SampledFrom([]domain.Currency{"EUR", "JPY", "XAU"}).Draw(t, "currency"),
		IdempotencyKey: rapid.SampledFrom([]string{"key-1", ""}).Draw(t, "key"),
		Route:          slices.Repeat([]payment.Target{{Processor: processor.Adyen, MerchantID: "m"}}, rapid.IntRange(1, 4).Draw(t, "targets")),
		AutoCapture:    rapid.IntRange(0, 3).Draw(t, "capture mode") == 0,
		Amount:         new(domain.Amount(rapid.SampledFrom([]int64{1250, 5000, 7, 2, 1, 0, int64(domain.MaxAmount)}).Draw(t, "amount"))),
		Method: payment.Method{
			Type: "PAYMENT_CARD", AuthorizationType: rapid.SampledFrom([]string{"FINAL", "ESTIMATED"}).Draw(t, "authorization type"),
		},
	}
	switch rapid.IntRange(0, 20).Draw(t, "missing") {
	case 1:
		c.OrderID = ""
	case 2:
		c.Currency = ""
	case 3:
		c.Amount = nil
	case 4:
		c.Route = nil
	}
	event, err := payment.DecideCreate(m.state, c)
	m.step(t, event, err, m.book.create(c))
}

func (m *machine) capture(t *rapid.T) {
	c := payment.Capture{Request: m.request(t), Amount: amount(t, m.book.left()), Final: rapid.Bool().Draw(t, "final")}
	event, err := payment.DecideCapture(m.state, c)
	m.step(t, event, err, m.book.capture(c))
}

// captures requests too large captures many times, until the limit of requests is reached (D3).
func (m *machine) captures(t *rapid.T) {
	for range rapid.SampledFrom([]int{1, 2, 60}).Draw(t, "times") {
		c := payment.Capture{Request: payment.Request{At: m.clock, EventID: "too much"}, Amount: new(domain.MaxAmount)}
		event, err := payment.DecideCapture(m.state, c)
		m.step(t, event, err, m.book.capture(c))
	}
}

func (m *machine) cancel(t *rapid.T) {
	c := payment.Cancel{Request: m.request(t), Reason: "reason"}
	event, err := payment.DecideCancel(m.state, c)
	m.step(t, event, err, m.book.cancel(c))
	m.wish.asked(event)
}

func (m *machine) refund(t *rapid.T) {
	c := payment.Refund{Request: m.request(t), Amount: amount(t, m.book.refundable())}
	if rapid.IntRange(0, 2).Draw(t, "aimed") == 0 {
		c.TransactionEventID = fmt.Sprintf("event-%d", rapid.Uint64Range(1, m.state.Revision+1).Draw(t, "at"))
	}
	event, err := payment.DecideRefund(m.state, c)
	m.step(t, event, err, m.book.refund(c))
}

func (m *machine) adjust(t *rapid.T) {
	c := payment.Adjust{Request: m.request(t)}
	if a := amount(t, m.book.total); a != nil && *a != domain.MaxAmount {
		c.Amount = *a
	}
	event, err := payment.DecideAdjust(m.state, c)
	m.step(t, event, err, m.book.adjust(c))
}

func (m *machine) resume(t *rapid.T) {
	c := payment.Resume{
		Request: m.request(t), Action: m.pick(t), Expired: rapid.IntRange(0, 3).Draw(t, "expired") == 0,
		Overdue: rapid.IntRange(0, 3).Draw(t, "overdue") == 0,
		Outcome: rapid.SampledFrom([]processor.Outcome{processor.Authenticated, processor.AuthenticationFailed}).Draw(t, "outcome"),
	}
	if rapid.IntRange(0, 3).Draw(t, "right token") > 0 && m.state.Authorization() != nil {
		c.Action = m.state.Authorization().Revision
	}
	over := m.state.Action != nil && (c.Overdue || !c.At.Before(m.state.Action.ExpiresAt))
	event, err := payment.DecideResume(m.state, c)
	m.step(t, event, err, m.book.resume(c, over))
	if e, is := event.(payment.Resumed); is && over && e.Outcome != processor.AuthenticationFailed {
		t.Fatal("an action that was abandoned did not fail")
	}
}

// pick draws the revision of a request: mostly one without an outcome, any other, or of none.
func (m *machine) pick(t *rapid.T) uint64 {
	n := len(m.book.items)
	if n == 0 || rapid.IntRange(0, 20).Draw(t, "of none") == 0 {
		return rapid.SampledFrom([]uint64{0, m.state.Revision + 1, 1 << 40}).Draw(t, "revision")
	}
	var open []*item
	for _, i := range m.book.items {
		if i.live() || i.stage == "acts" {
			open = append(open, i)
		}
	}
	if len(open) > 0 && rapid.IntRange(0, 3).Draw(t, "of those open") > 0 {
		return rapid.SampledFrom(open).Draw(t, "open request").revision
	}
	return m.book.items[rapid.IntRange(0, n-1).Draw(t, "request")].revision
}

func (m *machine) answer(t *rapid.T)       { m.answerTo(t, m.pick(t)) }
func (m *machine) answerNewest(t *rapid.T) { m.answerTo(t, m.newest()) }

func (m *machine) newest() uint64 {
	if n := len(m.book.items); n > 0 {
		return m.book.items[n-1].revision
	}
	return 0
}

func (m *machine) answerTo(t *rapid.T, revision uint64) {
	c := payment.RecordAnswer{At: m.tick(t), EventID: fmt.Sprintf("event-%d", m.state.Revision+1), Request: revision}
	c.ActionExpiresAt = c.At.Add(time.Hour)
	c.Answer = processor.Answer{
		State: rapid.SampledFrom([]processor.State{
			processor.Succeeded, processor.Succeeded, processor.Succeeded, processor.Pending, processor.Pending,
			processor.ActionRequired, processor.ActionRequired, processor.Failed, processor.Declined, "UNHEARD_OF",
		}).Draw(t, "answer"),
		ProcessorTransactionID: rapid.SampledFrom([]string{"", "t-1", "t-1", "t-1", "t-1", "t-1", "t-2"}).Draw(t, "transaction"),
		Code:                   rapid.SampledFrom([]string{"", "05", "41", "51", "91", "Z9", processor.CodeFenced, processor.CodeFault, processor.CodeRejected}).Draw(t, "code"),
		Retryable:              rapid.Bool().Draw(t, "retryable"),
	}
	if i := m.book.find(revision); i != nil && !m.book.can(i) && (c.Answer.State == processor.Succeeded || c.Answer.State == processor.Pending) {
		c.Answer.State = processor.Failed // an out-of-band operation was recorded first
	}
	if c.Answer.State == processor.Declined && len(c.Answer.Code) > 2 {
		c.Answer.Code = "41" // a code of the issuer
	}
	if rapid.Bool().Draw(t, "with details") {
		c.Answer.Bin, c.Answer.Risk = &processor.BinData{Network: domain.NetworkVisa}, &processor.Risk{CVVResult: "MATCHED"}
	}
	event, err := payment.DecideAnswer(m.state, c)
	m.step(t, event, err, m.book.answer(c))
	if fault := m.wish.heard(event, c.Answer, m.state); fault != "" {
		t.Fatalf("%s: %s", event.Type(), fault)
	}
}

func (m *machine) timeOut(t *rapid.T) {
	c := payment.TimeOut{At: m.tick(t), Request: m.newest()}
	if rapid.IntRange(0, 3).Draw(t, "another") == 0 {
		c.Request = m.pick(t)
	}
	event, err := payment.DecideTimeOut(m.state, c)
	m.step(t, event, err, m.book.timeOut(c.Request))
}

// look takes the view of a caller who is let go; nothing may change by it.
func (m *machine) look(t *rapid.T) {
	before := textOf(t, m.state)
	if view := m.state.Unanswered(); view.Status() != m.state.Status() {
		t.Fatalf("%s is shown as %s", m.state.Status(), view.Status())
	}
	if after := textOf(t, m.state); after != before {
		t.Fatalf("looking changed\n%s\nto\n%s", before, after)
	}
}

// check checks the invariants. It runs after every command.
func (m *machine) check(t *rapid.T) {
	s, b := m.state, m.book
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	same := func(what string, got, want any) {
		if got != want {
			t.Fatalf("%s: %v, and the model says %v", what, got, want)
		}
	}
	same("status", s.Status(), b.status())
	same("revision", s.Revision, b.revision)
	same("amount", s.Amount, b.total)
	same("captured", s.Captured(), b.taken)
	same("left", s.Capturable(), b.left())
	same("refunded", s.Refunded(), b.back)
	same("refundable", s.Refundable(), b.refundable())
	m.checkOperations(t)
	same("keys", len(s.Whole().KeyHashes), len(b.keys))
	for _, key := range []string{"key-1", "key-2", "key-3", "key-4", "key-5", "key-6"} {
		same(key, s.Used(domain.KeyHash("acct", key)), b.keys[key])
	}
	same("action", s.RequiredAction() != nil, b.required())
	open, lost := 0, false
	for _, i := range b.items {
		lost = lost || i.stage == "lost"
		if i.live() {
			open++
		}
	}
	same("open", len(process.Open(s)), open)
	same("reason", s.StatusReason() != nil, lost || b.in(payment.StatusDeclined, payment.StatusFailed))
	m.checkHistory(t)
}

// stages are the model's words for states.
var stages = map[payment.OperationState]string{
	payment.StateRequested: "asked", payment.StateUnknown: "lost", payment.StatePending: "waits", payment.StateAction: "acts",
	payment.StateSucceeded: "yes", payment.StateDeclined: "no", payment.StateFailed: "no", payment.StateVoided: "gone",
}

// checkOperations: every operation is there, in its order, whether or not it left the state.
func (m *machine) checkOperations(t *rapid.T) {
	all := m.state.Whole().Operations
	if len(all) != len(m.book.items) {
		t.Fatalf("%d operations, and the model says %d", len(all), len(m.book.items))
	}
	for i, op := range all {
		want := m.book.items[i]
		stage := want.stage
		if op.Refused {
			stage = "no"
		}
		if op.Kind == processor.Complete && !want.live() {
			stage = stages[op.State] // the model has no outcome of completions
		}
		one, found := m.state.Operation(want.revision)
		if op.Revision != want.revision || op.Kind != want.kind || stages[op.State] != stage || op.OutOfBandID != want.theirs {
			t.Fatalf("operation %d is %+v, and the model says %+v", i, op, want)
		}
		if !found || !reflect.DeepEqual(one, op) {
			t.Fatalf("operation %d is found as %+v, not %+v", op.Revision, one, op)
		}
	}
	if most := len(m.state.Route) + payment.Tail + m.kept(all); len(m.state.Operations) > most {
		t.Fatalf("%d operations stay; %d are the most", len(m.state.Operations), most)
	}
}

// kept counts the operations that an answer may still change.
func (m *machine) kept(all []payment.Operation) (n int) {
	for _, op := range all {
		if op.Kind != processor.Authorize && (op.State.Open() || op.State == payment.StateFailed && (op.Kind == processor.Complete || op.Answer().Code == processor.CodeFenced)) {
			n++
		}
	}
	return n
}

// checkHistory checks that dateUpdated never moves back, that the events fold to the state, and
// that states in callers' hands are unchanged.
func (m *machine) checkHistory(t *rapid.T) {
	if n := len(m.given); n > 0 {
		_, unneeded := m.events[n-1].(payment.AdjustmentUnneeded)
		if before := m.given[n-1].state.UpdatedAt; m.state.UpdatedAt.After(before) == unneeded {
			t.Fatalf("%s moved dateUpdated from %s to %s", m.events[n-1].Type(), before, m.state.UpdatedAt)
		}
	}
	var folded payment.State
	for _, e := range m.events {
		folded = payment.Evolve(folded, e)
	}
	if !reflect.DeepEqual(folded, m.state) {
		t.Fatalf("folded anew the payment is\n%s\nnot\n%s", textOf(t, folded), textOf(t, m.state))
	}
	for _, h := range m.given[max(0, len(m.given)-4):] {
		if now := textOf(t, h.state); now != h.text {
			t.Fatalf("a state that was handed out changed from\n%s\nto\n%s", h.text, now)
		}
	}
}

// TestRandomLives: however few operations stay in the state, random commands and answers, taken and
// refused as the model says. More of them by -rapid.checks=20000; a failure prints the seed that
// repeats it.
func TestRandomLives(t *testing.T) {
	withTail(t, payment.Tail)
	seedtest.Check(t, func(t *rapid.T) {
		payment.Tail = rapid.SampledFrom([]int{0, 1, 1, 2, 4, 1000}).Draw(t, "tail")
		m := &machine{book: &book{keys: map[string]bool{}}, clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
		m.create(t)
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "capture": m.capture, "captures": m.captures, "cancel": m.cancel, "refund": m.refund,
			"adjust": m.adjust, "resume": m.resume, "resumeAgain": m.resume, "answer": m.answer,
			"answerNewest": m.answerNewest, "answerNewestAgain": m.answerNewest, "timeOut": m.timeOut, "found": m.found, "look": m.look, "": m.check,
		})
	})
}
