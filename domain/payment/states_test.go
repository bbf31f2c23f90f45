package payment_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
)

const statesHead = `# States of a payment

Generated from the rules by ` + "`go test ./domain/payment -run TestStates -update`" + `; a test compares it with the rules.

`

const matrixHead = `
## Every command in every situation

Rows: a command, or a processor's answer to the newest authorization or to the newest other operation. Columns: the
situation of the payment, with its status (§3.1). Cells: the recorded event, with the new status if it changes; or why
nothing is recorded:

- an errorId (D3): the command is refused; after an event: our own rules refuse it, and the refusal is recorded (D7)
- *waits*: another operation is running; the command is decided again after it (D7)
- *answered*: the answer is recorded already
- *not understood*: no fact; the outcome stays unknown and is looked up (D8)
- *foreign*: the operation has another merchant account or currency
- *nothing*: the command succeeds and changes nothing; –: there is no such operation

The payment is an ESTIMATED authorization of 12.50 EUR with a route of two processors.
`

// TestStates compares STATES.md with the rules: the status by the facts, and every command in every
// situation.
func TestStates(t *testing.T) {
	var b strings.Builder
	b.WriteString(statesHead + truthTable() + matrixHead)
	for _, group := range situations {
		fmt.Fprintf(&b, "\n### %s\n\n| |", group.title)
		stories := make([]*story, len(group.rows))
		for i, at := range group.rows {
			stories[i] = at.story(t)
			fmt.Fprintf(&b, " %s |", at.shown(stories[i].state))
		}
		b.WriteString("\n|---" + strings.Repeat("|---", len(group.rows)) + "|\n")
		for _, c := range commands {
			fmt.Fprintf(&b, "| %s |", c.name)
			for _, s := range stories {
				branch := *s
				fmt.Fprintf(&b, " %s |", branch.ask(t, c.command))
			}
			b.WriteString("\n")
		}
	}
	if *update {
		if err := os.WriteFile("STATES.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("STATES.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Error("STATES.md is out of date: run go test ./domain/payment -update and read the difference")
	}
}

// story plays the commands that lead to a situation.
func (at situation) story(t *testing.T) *story {
	t.Helper()
	s := newStory()
	if at.path != "" {
		s.given(t, at.path)
	}
	return s
}

func (at situation) shown(s payment.State) string {
	if !s.Exists() {
		return at.name
	}
	return fmt.Sprintf("%s: %s", at.name, s.Status())
}

// ask runs a command and returns its result in a word.
func (s *story) ask(t *testing.T, command string) string {
	t.Helper()
	command, found := s.named(command)
	if !found {
		return "–"
	}
	before := s.state.Status()
	event, err := s.do(t, command)
	var refused *domain.Error
	switch {
	case errors.As(err, &refused):
		return string(refused.Reason)
	case errors.Is(err, payment.ErrRunning):
		return "*waits*"
	case errors.Is(err, payment.ErrAlreadyAnswered):
		return "*answered*"
	case errors.Is(err, payment.ErrForeign):
		return "*foreign*"
	case errors.Is(err, payment.ErrNoSuchOperation):
		return "–"
	case errors.Is(err, processor.ErrUnknown):
		return "*not understood*"
	case err != nil:
		t.Fatal(err)
	case event == nil:
		return "*nothing*"
	}
	text := "`" + strings.TrimPrefix(event.Type(), "payment.") + "`"
	if after := s.state.Status(); after != before || s.state.Revision == 1 {
		text += " → " + string(after)
	}
	if requested := s.followed(); requested != "" {
		text += ", requests " + requested
	}
	if books, is := event.(interface{ Refusal(payment.State) error }); is {
		text += ", " + string(domain.ReasonOf(books.Refusal(s.state)))
	}
	return text
}

// named replaces "authorization" and "operation" by revisions; false when there is no such
// operation.
func (s *story) named(command string) (string, bool) {
	words := strings.Fields(command)
	of := func(is func(payment.Operation) bool) string {
		for _, op := range slices.Backward(s.state.Whole().Operations) {
			if is(op) {
				return strconv.FormatUint(op.Revision, 10)
			}
		}
		return ""
	}
	if len(words) < 2 {
		return command, true
	}
	switch words[1] {
	case "authorization":
		words[1] = of(func(op payment.Operation) bool { return op.Kind == processor.Authorize })
		if words[1] == "" && (words[0] == "resume" || words[0] == "expire") {
			words[1] = "1"
		}
	case "operation":
		words[1] = of(func(op payment.Operation) bool { return op.Kind != processor.Authorize })
	}
	return strings.Join(words, " "), words[1] != ""
}

// followed names the operation that the event of an answer also requested.
func (s *story) followed() string {
	op, found := s.state.Operation(s.state.Revision)
	if !found || op.State != payment.StateRequested {
		return ""
	}
	switch s.last.(type) {
	case payment.Authorized, payment.AuthorizationPending, payment.ActionRequired, payment.CompletionFailed:
		return string(op.Kind)
	case payment.AuthorizationRerouted:
		return "the next processor"
	}
	return ""
}

// TestMatrixIsTheTable checks that a payment without a running operation accepts a merchant's
// command in exactly the statuses of the table in D7.
func TestMatrixIsTheTable(t *testing.T) {
	taken := map[string]string{
		"capture amount=1":    "AUTHORIZED PARTIALLY_SETTLED",
		"cancel":              "PENDING AUTHORIZED PARTIALLY_SETTLED SETTLING SETTLED", // SETTLED: the processor refuses
		"refund amount=1":     "SETTLED PARTIALLY_SETTLED SETTLING",
		"adjust amount=3000":  "AUTHORIZED",
		"capture amount=9999": "AUTHORIZED PARTIALLY_SETTLED", // recorded as failed
		"refund amount=9999":  "SETTLED PARTIALLY_SETTLED SETTLING",
	}
	tried := 0
	for _, group := range situations {
		for _, at := range group.rows {
			s := at.story(t)
			busy := strings.Contains(at.name, "requested") || strings.Contains(at.name, "timed out") ||
				at.name == "adjustment pending" || at.name == "void pending"
			special := at.name == "authorized, amount 0" || at.name == "authorized, FINAL" || strings.HasPrefix(at.name, "100")
			if !s.state.Exists() || busy || special {
				continue
			}
			for command, statuses := range taken {
				branch := *s
				cell := branch.ask(t, command)
				want := slices.Contains(strings.Fields(statuses), string(s.state.Status()))
				if got := strings.HasPrefix(cell, "`"); got != want {
					t.Errorf("%s of a payment that is %s (%s): %s", command, s.state.Status(), at.name, cell)
				}
				tried++
			}
		}
	}
	if tried < 100 {
		t.Fatalf("%d cells only", tried)
	}
}
