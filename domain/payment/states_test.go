package payment_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/payment"
)

// situations are all the places where a payment can be, each with the commands that bring it there.
var situations = []struct{ name, path string }{
	{"none", ""},
	{"requested", "create"},
	{"timed out", "create; timeout 1"},
	{"pending", "create; answer 1 PENDING"},
	{"authorized", "create; answer 1 SUCCEEDED"},
	{"declined", "create; answer 1 DECLINED"},
	{"failed", "create; answer 1 FAILED"},
}

// commands are all that can be asked of it.
var commands = []string{
	"create", "create without key", "answer 1 SUCCEEDED", "answer 1 DECLINED", "answer 1 FAILED", "answer 1 PENDING",
	"answer 1 ACTION_REQUIRED", "answer 1 UNHEARD_OF", "answer 2 SUCCEEDED", "timeout 1", "timeout 2",
}

// TestStates keeps STATES.md true: every command in every situation, on one page.
func TestStates(t *testing.T) {
	var b strings.Builder
	b.WriteString("# States of a payment\n\nGenerated from the rules by `go test ./domain/payment -run TestStates -update`; a test keeps it true.\n\n")
	b.WriteString("Down: the command (a number is the revision of the request it is about). Across: where the payment is, with\n")
	b.WriteString("the status it shows (§3.1). In the cell: the event and the status after it, or why it is refused.\n\n| |")
	stories := make([]*story, len(situations))
	for i, at := range situations {
		s := newStory()
		for command := range strings.SplitSeq(at.path, "; ") {
			if command != "" {
				s.ask(t, command)
			}
		}
		shown := "no payment"
		if s.state.Exists() {
			shown = fmt.Sprintf("%s: %s", at.name, s.state.Status())
		}
		stories[i] = s
		fmt.Fprintf(&b, " %s |", shown)
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(situations)) + "|\n")
	for _, command := range commands {
		fmt.Fprintf(&b, "| %s |", command)
		for _, s := range stories {
			branch := *s
			fmt.Fprintf(&b, " %s |", branch.ask(t, command))
		}
		b.WriteString("\n")
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

// ask puts a command in its shortest form and tells what came of it.
func (s *story) ask(t *testing.T, command string) string {
	t.Helper()
	switch command {
	case "create":
		command = "create key=key-1 amount=1250 currency=EUR order=order-1 to=ADYEN"
	case "create without key":
		command = "create amount=1250 currency=EUR order=order-1 to=ADYEN"
	}
	event, err := s.do(t, command)
	var refused *domain.Error
	switch {
	case errors.As(err, &refused):
		return string(refused.Reason)
	case errors.Is(err, payment.ErrAlreadyAnswered), errors.Is(err, payment.ErrNoSuchOperation):
		return err.Error()
	case err != nil:
		return "not understood"
	}
	return fmt.Sprintf("`%s` → %s", event.Type(), s.state.Status())
}
