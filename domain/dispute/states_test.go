package dispute_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/processor"
)

var update = flag.Bool("update", false, "rewrite STATES.md")

const head = `# States of a dispute

Generated from the rules by ` + "`go test ./domain/dispute -run TestStates -update`" + `; a test compares it with the rules.

## What may follow at once (D16)

| type, status | may become |
|---|---|
`

const introduction = `
## What a processor may tell next

Down: where the dispute stands. Across: what its processor tells, newer by its time than everything before. In the
cell: the event that is recorded. *noted* changes neither type nor status; an empty cell is rejected as impossible.
A step that was skipped is no contradiction: what lies between may be lost or late. Nothing known yet: the first row.

`

const late = `
## What a processor may tell late

Down: where the dispute stands. Across: what comes now, and is older. *noted*: it can have been so before, and
changes nothing; an empty cell is rejected.

`

// TestStates checks STATES.md: every type and status is recorded in every situation, with a newer
// and an older time.
func TestStates(t *testing.T) {
	places, steps, leads := modelOf()
	var b strings.Builder
	b.WriteString(head)
	for _, p := range places {
		var next []string
		for _, to := range places {
			if steps[[2]dispute.Place{p, to}] {
				next = append(next, to.String())
			}
		}
		if len(next) == 0 {
			next = []string{"–"}
		}
		fmt.Fprintf(&b, "| %s | %s |\n", p, strings.Join(next, ", "))
	}
	all := everything()
	b.WriteString(introduction + heading(all))
	fmt.Fprintf(&b, "| – |%s\n", row(all, func(to dispute.Place) string {
		_, events := tell(t, factAt("new", to, noon))
		if known := leads[[2]dispute.Place{to, to}]; known != (events[0] == "opened") {
			t.Errorf("%s at first sight: %v", to, events)
		}
		return events[0]
	}))
	for _, p := range places {
		fmt.Fprintf(&b, "| %s |%s\n", p, row(all, func(to dispute.Place) string {
			_, events := tell(t, factAt("before", p, noon), factAt("new", to, noon.Add(time.Second)))
			if possible := leads[[2]dispute.Place{p, to}]; possible == (events[1] == "rejected") {
				t.Errorf("%s after %s: %v", to, p, events)
			}
			return events[1]
		}))
	}
	b.WriteString(late + heading(all))
	for _, p := range places {
		fmt.Fprintf(&b, "| %s |%s\n", p, row(all, func(to dispute.Place) string {
			s, events := tell(t, factAt("now", p, noon), factAt("old", to, noon.Add(-time.Second)))
			if possible := leads[[2]dispute.Place{to, p}]; possible == (events[1] == "rejected") || s.Current.Place() != p {
				t.Errorf("%s before %s: %v, %s", to, p, events, s.Current.Place())
			}
			return events[1]
		}))
	}
	if *update {
		if err := os.WriteFile("STATES.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("STATES.md")
	if err != nil || string(got) != b.String() {
		t.Errorf("STATES.md is out of date: run go test ./domain/dispute -update and read the difference (%v)", err)
	}
}

// everything returns every type with every status, also the combinations that do not exist.
func everything() (all []dispute.Place) {
	for _, typ := range processor.DisputeTypes {
		for _, status := range processor.DisputeStatuses {
			all = append(all, dispute.Place{Type: typ, Status: status})
		}
	}
	return all
}

func heading(all []dispute.Place) string {
	return "| |" + row(all, func(p dispute.Place) string { return p.String() }) + "\n|---" + strings.Repeat("|---", len(all)) + "|\n"
}

func row(all []dispute.Place, cell func(dispute.Place) string) string {
	var b strings.Builder
	for _, p := range all {
		text := cell(p)
		if text == "rejected" {
			text = ""
		}
		fmt.Fprintf(&b, " %s |", text)
	}
	return b.String()
}

// TestRecord checks that a fact is recorded with its effect, and that a repeated fact changes
// nothing.
func TestRecord(t *testing.T) {
	open, won := dispute.Place{Type: "DISPUTE", Status: "OPEN"}, dispute.Place{Type: "DISPUTE", Status: "WON"}
	first := factAt("1", open, noon)
	s, events := tell(t, first, factAt("1", won, noon.Add(time.Hour)), factAt("2", won, noon.Add(time.Hour)), factAt("3", open, noon.Add(2*time.Hour)))
	if d := cmp.Diff([]string{"opened", "", "changed", "rejected"}, events); d != "" {
		t.Error(d)
	}
	if s.ID != "01dispute" || s.Account != "acct" || s.Revision != 3 || !s.CreatedAt.Equal(noon) || s.Subject.ProcessorDisputeID != "dp_1" {
		t.Errorf("%+v", s)
	}
	last := s.Facts[2]
	if last.Disposition != dispute.DispositionRejected || last.Refusal != "A dispute that was DISPUTE WON cannot be DISPUTE OPEN after it." || !last.Entered.Equal(s.UpdatedAt) {
		t.Errorf("%+v", last)
	}
}

// TestOtherPayment: the processor's dispute is one payment's for ever.
func TestOtherPayment(t *testing.T) {
	s, _ := tell(t, factAt("1", dispute.Place{Type: "DISPUTE", Status: "OPEN"}, noon))
	e, err := dispute.DecideRecord(s, dispute.Record{
		At: noon, Fact: factAt("2", dispute.Place{Type: "DISPUTE", Status: "LOST"}, noon.Add(time.Hour)), Subject: dispute.Subject{Payment: "01other"},
	})
	if rejected, is := e.(dispute.Rejected); err != nil || !is || rejected.Refusal != "The dispute belongs to payment 01payment, not to 01other." {
		t.Errorf("%+v %v", e, err)
	}
}

// TestTimeToCome checks that a fact with a time far in the future is rejected, and does not outrank
// later facts. A clock one day ahead is accepted.
func TestTimeToCome(t *testing.T) {
	open, won := dispute.Place{Type: "DISPUTE", Status: "OPEN"}, dispute.Place{Type: "DISPUTE", Status: "WON"}
	s, events := tell(t, factAt("1", open, noon.AddDate(100, 0, 0)), factAt("2", open, noon.Add(time.Hour)), factAt("3", won, noon.Add(26*time.Hour)))
	if d := cmp.Diff([]string{"rejected", "opened", "changed"}, events); d != "" || s.Current.Status != "WON" {
		t.Error(d, s.Current)
	}
	if s.Facts[0].Refusal != "The processor's time, 2126-03-01T12:00:00Z, is more than 24 hours in the future." {
		t.Error(s.Facts[0].Refusal)
	}
	s, events = tell(t, factAt("1", open, noon), factAt("2", dispute.Place{Type: "DISPUTE", Status: "LOST"}, noon.AddDate(973, 0, 0)), factAt("3", won, noon.Add(time.Hour)))
	if d := cmp.Diff([]string{"opened", "rejected", "changed"}, events); d != "" || s.Current.Status != "WON" {
		t.Error(d, s.Current)
	}
}

// TestDetails: a newer fact of the same type and status brings the details up to date.
func TestDetails(t *testing.T) {
	open := dispute.Place{Type: "DISPUTE", Status: "OPEN"}
	first, by := factAt("1", open, noon), noon.AddDate(0, 0, 7)
	second, older := factAt("2", open, noon.Add(time.Hour)), factAt("3", open, noon.Add(time.Minute))
	second.ChallengeBy, second.Amount, older.Amount = &by, 70, 90
	s, events := tell(t, first, second, older)
	if d := cmp.Diff([]string{"opened", "noted", "noted"}, events); d != "" || s.Current.Amount != 70 || s.Current.ChallengeBy == nil {
		t.Error(d, s.Current)
	}
}

// TestBound checks that the list of facts is bounded. A fact that changes the dispute is accepted
// beyond the bound, too.
func TestBound(t *testing.T) {
	open := dispute.Place{Type: "DISPUTE", Status: "OPEN"}
	var facts []dispute.Fact
	for i := range 300 {
		facts = append(facts, factAt(fmt.Sprint(i), open, noon.Add(time.Duration(i)*time.Second)))
	}
	facts = append(facts, factAt("lost", dispute.Place{Type: "DISPUTE", Status: "LOST"}, noon.Add(time.Hour)))
	s, events := tell(t, facts...)
	if len(s.Facts) != 201 || events[199] != "noted" || events[200] != "" || s.Current.Status != "LOST" {
		t.Errorf("%d facts, %s", len(s.Facts), s.Current.Status)
	}
}

// TestEvolveIsTotal: events fold into any state.
func TestEvolveIsTotal(t *testing.T) {
	for _, e := range dispute.Events() {
		if s := dispute.Evolve(dispute.State{}, e); s.Revision != 1 {
			t.Errorf("%s: %+v", e.Type(), s)
		}
	}
	if err := dispute.NotFound(); err.Reason != domain.ReasonEntityNotFound {
		t.Error(err)
	}
}
