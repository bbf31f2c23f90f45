package payment_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain/payment"
	"payledger/domain/webhook"
)

var update = flag.Bool("update", false, "rewrite the expected lines of the scripts")

// TestScripts plays the lifecycles in testdata. "given COMMAND" must succeed; "when COMMAND" may
// fail, and the lines under it describe its result and the payment. "given 99 times COMMAND;
// COMMAND" repeats the commands. "== TITLE" begins a new payment. The number of an answer or
// timeout is the revision of its request; "last" is the newest request. -update rewrites the lines
// under each "when"; review the difference like code.
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
			for _, tail := range []int{0, 1, 1000} { // the number of operations in the state makes no difference
				withTail(t, tail)
				if other := play(t, string(text)); other != got {
					t.Errorf("with a tail of %d the story is:\n%s", tail, other)
				}
			}
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s differs from the result:\n%s", path, got)
			}
		})
	}
}

// withTail sets the number of finished operations in a state until the test ends.
func withTail(t testing.TB, n int) {
	before := payment.Tail
	t.Cleanup(func() { payment.Tail = before })
	payment.Tail = n
}

// play runs a script and returns it with the results.
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
			s.given(t, command)
		case "when":
			event, err := s.do(t, command)
			out.WriteString(s.then(event, err))
		}
	}
	return out.String()
}

// story is a payment with a clock.
type story struct {
	clock time.Time
	state payment.State
	last  payment.Event
}

func newStory() *story { return &story{clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

var repetition = regexp.MustCompile(`^(\d+) times (.*)$`)

// given runs commands that must succeed.
func (s *story) given(t *testing.T, commands string) {
	t.Helper()
	times := 1
	if m := repetition.FindStringSubmatch(commands); m != nil {
		times, _ = strconv.Atoi(m[1])
		commands = m[2]
	}
	for range times {
		for command := range strings.SplitSeq(commands, ";") {
			if _, err := s.do(t, strings.TrimSpace(command)); err != nil {
				t.Fatalf("given %s: %v", command, err)
			}
		}
	}
}

var argument = regexp.MustCompile(`(\w+)=("[^"]*"|\S*)`)

// isTold reports whether a change of the status by an event sends PAYMENT.STATUS.
func isTold(event payment.Event, before payment.Status, after payment.State) bool {
	row, _ := webhook.Candidates(event.Type())
	return before == after.Status() || slices.ContainsFunc(row, func(c webhook.Candidate) bool {
		return c.Kind == webhook.PaymentStatus && c.When.Holds(before, after)
	})
}

// do decides one command, one second after the previous one or at its own time, and applies the
// event.
func (s *story) do(t *testing.T, command string) (payment.Event, error) {
	t.Helper()
	words, args := strings.Fields(command), arguments{}
	for _, m := range argument.FindAllStringSubmatch(command, -1) {
		args[m[1]] = strings.Trim(m[2], `"`)
	}
	s.clock = s.clock.Add(time.Second)
	if text, ok := args["clock"]; ok {
		if len(text) == len("15:04:05") {
			text = "2026-03-01T" + text
		}
		at, err := time.Parse("2006-01-02T15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		s.clock = at
	}
	event, err := s.decide(t, words, args)
	if err != nil || event == nil {
		return nil, err
	}
	status, before := s.state.Status(), s.state.UpdatedAt
	s.last = event
	s.state = payment.Evolve(s.state, event)
	if !isTold(event, status, s.state) {
		t.Fatalf("%s changes the status from %s to %s without PAYMENT.STATUS (§3.1)", event.Type(), status, s.state.Status())
	}
	if err := s.state.Check(); err != nil && words[0] != "outOfBand" { // an out-of-band fact is recorded even if it violates an invariant
		t.Fatal(err)
	}
	if _, nothing := event.(payment.AdjustmentUnneeded); !nothing && !s.state.UpdatedAt.After(before) {
		t.Fatalf("%s moved dateUpdated from %s to %s (§6.1)", event.Type(), before, s.state.UpdatedAt)
	}
	return event, nil
}
