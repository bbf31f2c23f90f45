package payment_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
	"payledger/domain/processor"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

// TestScripts plays the lifecycles in testdata. A line "given COMMAND" brings a payment where the story
// begins and must be taken; "when COMMAND" is what the story is about, and the lines under it say what
// then is true. "== TITLE" begins a new payment. -update rewrites the lines under each "when"; read the
// difference as you would read code.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s tells another story now; it is:\n%s", path, got)
			}
		})
	}
}

// play runs a script and writes it with what happened.
func play(t *testing.T, script string) string {
	var out strings.Builder
	s := newStory()
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		word, command, _ := strings.Cut(line, " ")
		switch word {
		case "then", "":
			if strings.TrimSpace(line) != "" {
				continue // written anew
			}
		case "==":
			s = newStory()
		}
		out.WriteString(line + "\n")
		switch word {
		case "given":
			if _, err := s.do(t, command); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		case "when":
			event, err := s.do(t, command)
			out.WriteString(s.then(event, err))
		}
	}
	return out.String()
}

// story is one payment under way.
type story struct {
	clock  time.Time
	state  payment.State
	events []payment.Event
}

func newStory() *story { return &story{clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

var argument = regexp.MustCompile(`(\w+)=("[^"]*"|\S*)`)

// do decides one command, a second after the one before or at the time it names, and folds its event.
func (s *story) do(t *testing.T, command string) (payment.Event, error) {
	t.Helper()
	words, args := strings.Fields(command), map[string]string{}
	for _, m := range argument.FindAllStringSubmatch(command, -1) {
		args[m[1]] = strings.Trim(m[2], `"`)
	}
	s.clock = s.clock.Add(time.Second)
	if text, ok := args["clock"]; ok {
		at, err := time.Parse("15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		s.clock = time.Date(2026, 3, 1, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	}
	event, err := s.decide(t, words, args)
	if err != nil {
		return nil, err
	}
	s.events = append(s.events, event)
	s.state = payment.Evolve(s.state, event)
	if err := s.state.Check(); err != nil {
		t.Fatal(err)
	}
	return event, nil
}

func (s *story) decide(t *testing.T, words []string, args map[string]string) (payment.Event, error) {
	t.Helper()
	if words[0] == "create" {
		return payment.DecideCreate(s.state, s.create(t, args))
	}
	request, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	switch words[0] {
	case "answer":
		return payment.DecideAuthorization(s.state, payment.RecordAuthorization{
			At: s.clock, EventID: fmt.Sprintf("event-%d", s.state.Revision+1), Request: request,
			Answer: processor.Answer{
				State: processor.State(words[2]), ProcessorTransactionID: args["transaction"], ProcessorEventID: args["event"],
				Code: args["code"], Message: args["message"], AuthorizationCode: args["authorization"], ThreeDS: args["threeDS"],
			},
		})
	case "timeout":
		return payment.DecideTimeOut(s.state, payment.TimeOut{At: s.clock, Request: request})
	default:
		t.Fatalf("no command is called %s", words[0])
		return nil, nil
	}
}

func (s *story) create(t *testing.T, args map[string]string) payment.Create {
	t.Helper()
	c := payment.Create{
		At: s.clock, ID: "01payment", Account: "acct", OrderID: args["order"], CustomerID: args["customer"],
		Currency: domain.Currency(args["currency"]), IdempotencyKey: args["key"], Session: "session-1",
		Method: payment.Method{
			Token: "token-1", Type: "PAYMENT_CARD", TokenizedAt: s.clock.Add(-time.Minute), AuthorizationType: "FINAL",
			Card: domain.NewCard("4111111111111111", "12", "2030", true),
		},
	}
	if text, ok := args["amount"]; ok {
		amount, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		c.Amount = new(domain.Amount(amount))
	}
	for name := range strings.SplitSeq(args["to"], ",") {
		if name != "" {
			c.Route = append(c.Route, payment.Target{Processor: processor.Name(name), MerchantID: "merchant-" + strings.ToLower(name)})
		}
	}
	return c
}

// then tells what a command led to.
func (s *story) then(event payment.Event, err error) string {
	var b strings.Builder
	if err != nil {
		b.WriteString("then refused: " + refusal(err) + "\n")
	} else {
		b.WriteString("then " + event.Type() + "\n")
		for _, line := range fields(event) {
			b.WriteString("       " + line + "\n")
		}
	}
	state := s.state
	if !state.Exists() {
		b.WriteString("     there is no payment\n")
		return b.String()
	}
	fmt.Fprintf(&b, "     the payment is %s at revision %d, updated %s\n", state.Status(), state.Revision, state.UpdatedAt.Format("15:04:05.999999"))
	if r := state.StatusReason(); r != nil {
		fmt.Fprintf(&b, "     because of %s\n", strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s", r.Type, r.Decline.Type, r.Decline.Code, r.Decline.AdvisedAction, r.ResultCode, r.ResultMessage)), " "))
	}
	for _, op := range state.Operations {
		fmt.Fprintf(&b, "     operation %s: %s %s at %s: %s, %d answers\n", state.OperationKey(op.Revision), op.Kind, op.Amount.Format(state.Currency), op.Target.Processor, op.State, len(op.Answers))
	}
	if step, revision := process.Authorization(state); step == process.Ask {
		fmt.Fprintf(&b, "     next: ask the processor about %s\n", state.OperationKey(revision))
	} else {
		b.WriteString("     next: nothing\n")
	}
	return b.String()
}

func refusal(err error) string {
	var e *domain.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := fmt.Sprintf("%s. %s", e.Reason, e.Message)
	for _, v := range e.Violations {
		text += fmt.Sprintf("\n       %s %s", v.Path, v.Description)
	}
	if e.Recovery != "" {
		text += "\n       " + e.Recovery
	}
	if e.Payment != "" {
		text += fmt.Sprintf("\n       about %s, %s", e.Payment, e.Status)
	}
	return text
}

// fields lists what an event says, by its names in the log.
func fields(event any) []string {
	text, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		panic(err)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value, err := json.Marshal(all[name])
		if err != nil {
			panic(err)
		}
		lines = append(lines, name+" "+string(value))
	}
	return lines
}
