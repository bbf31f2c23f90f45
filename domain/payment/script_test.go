package payment_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain/payment"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

// TestScripts plays the lifecycles in testdata. A line "given COMMAND" brings a payment where the story
// begins and must be taken; "when COMMAND" is what the story is about, and the lines under it say what
// then is true. "given 99 times COMMAND; COMMAND" repeats itself. "== TITLE" begins a new payment. The
// number of an answer or a time-out is the revision of the request it is about; "last" is the newest request.
// -update rewrites the lines under each "when"; read the difference as you would read code.
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
			for _, tail := range []int{0, 1, 1000} { // however many operations stay in the state, the story is the same
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
				t.Errorf("%s tells another story now; it is:\n%s", path, got)
			}
		})
	}
}

// withTail has states keep n settled operations until the test ends.
func withTail(t testing.TB, n int) {
	before := payment.Tail
	t.Cleanup(func() { payment.Tail = before })
	payment.Tail = n
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
			s.given(t, command)
		case "when":
			event, err := s.do(t, command)
			out.WriteString(s.then(event, err))
		}
	}
	return out.String()
}

// story is one payment under way.
type story struct {
	clock time.Time
	state payment.State
	last  payment.Event
}

func newStory() *story { return &story{clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

var repetition = regexp.MustCompile(`^(\d+) times (.*)$`)

// given does what must be taken.
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

// do decides one command, a second after the one before or at the time it names, and folds its event.
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
	before := s.state.UpdatedAt
	s.last = event
	s.state = payment.Evolve(s.state, event)
	if err := s.state.Check(); err != nil && words[0] != "found" { // even a fact that no processor should tell is recorded
		t.Fatal(err)
	}
	if _, nothing := event.(payment.AdjustmentUnneeded); !nothing && !s.state.UpdatedAt.After(before) {
		t.Fatalf("%s moved dateUpdated from %s to %s (§6.1)", event.Type(), before, s.state.UpdatedAt)
	}
	return event, nil
}
