package payment_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/process"
)

// page is the expected part of a script. Each line is a fact about the payment.
type page struct{ strings.Builder }

func (p *page) say(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// then describes the result of a command.
func (s *story) then(event payment.Event, err error) string {
	var p page
	switch {
	case err != nil:
		p.say("then refused: %s", refusal(err))
	case event == nil:
		p.say("then nothing is recorded")
	default:
		p.say("then %s", event.Type())
		for _, line := range fields(event) {
			p.say("       %s", line)
		}
		if refused, is := event.(interface{ Refusal(payment.State) error }); is {
			p.say("     the caller is refused: %s", refusal(refused.Refusal(s.state)))
		}
	}
	if !s.state.Exists() {
		p.say("     there is no payment")
		return p.String()
	}
	p.payment(s.state)
	return p.String()
}

// payment describes the state.
func (p *page) payment(s payment.State) {
	p.say("     the payment is %s at revision %d, updated %s", s.Status(), s.Revision, s.UpdatedAt.Format("Jan 2 15:04:05.999999"))
	if r := s.StatusReason(); r != nil {
		p.say("     because of %s", strings.Join(strings.Fields(fmt.Sprint(r.Type, " ", r.Decline.Type, " ", r.Decline.Code, " ",
			r.Decline.AdvisedAction, " ", r.ResultCode, " ", r.ResultMessage)), " "))
	}
	if a := s.RequiredAction(); a != nil {
		p.say("     the customer must complete %s before %s", a.Name, a.ExpiresAt.Format("2006-01-02 15:04:05"))
	}
	if s.Intent != nil {
		p.say("     a cancellation is intended: %q", s.Intent.Reason)
	}
	money := func(a domain.Amount) string { return a.Format(s.Currency) }
	if s.Captured() > 0 {
		p.say("     captured %s of %s, %s left; refunded %s, %s left", money(s.Captured()), money(s.Amount), money(s.Capturable()),
			money(s.Refunded()), money(s.Refundable()))
	}
	if len(s.Metadata) > 0 {
		p.say("     metadata %s", fields(struct{ Metadata domain.Metadata }{s.Metadata})[0][len("Metadata "):])
	}
	p.operations(s)
	p.next(s)
}

// many operations are summed, except for the newest.
const many = 12

func (p *page) operations(s payment.State) {
	shown := s.Whole().Operations
	if len(shown) > many {
		sums := map[string]int{}
		for _, op := range shown[:len(shown)-1] {
			sums[fmt.Sprintf("%s: %s", op.Kind, op.State)]++
		}
		for _, what := range slices.Sorted(maps.Keys(sums)) {
			p.say("     %dx %s", sums[what], what)
		}
		shown = shown[len(shown)-1:]
	}
	for _, op := range shown {
		p.say("     operation %s: %s", s.OperationKey(op.Revision), operation(s, op))
	}
}

func operation(s payment.State, op payment.Operation) string {
	text := fmt.Sprintf("%s %s at %s", op.Kind, op.Amount.Format(s.Currency), op.Target.Processor)
	if op.Outcome != "" {
		text = fmt.Sprintf("%s %s at %s", op.Kind, op.Outcome, op.Target.Processor)
	}
	if op.Parent > 1 {
		text += fmt.Sprintf(" of %s", s.OperationKey(op.Parent))
	}
	if op.Final {
		text += ", final"
	}
	text += ": " + string(op.State)
	if op.Refused {
		text += " by our own rules"
	}
	if op.OutOfBandID != "" {
		text += ", out of band as " + op.OutOfBandID
	}
	for i, a := range op.Answers {
		text += map[bool]string{true: " (", false: ", "}[i == 0] + fmt.Sprintf("%s %s", a.EventID, a.State)
	}
	if len(op.Answers) > 0 {
		text += ")"
	}
	return text
}

// next names the operations to send and to look up.
func (p *page) next(s payment.State) {
	var next []string
	sent, found := process.Requested(s)
	if found {
		next = append(next, "send "+string(s.OperationKey(sent.Revision)))
	}
	for _, op := range process.Open(s) {
		if !found || op.Revision != sent.Revision {
			next = append(next, "look up "+string(s.OperationKey(op.Revision)))
		}
	}
	if len(next) == 0 {
		next = []string{"nothing"}
	}
	p.say("     next: %s", strings.Join(next, ", "))
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

// fields lists the fields of an event by their names in the log.
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
