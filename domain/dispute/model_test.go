package dispute_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payledger/domain/dispute"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
)

// contract is the table of D16, as it is written there.
var contract = map[processor.DisputeType]string{
	"RETRIEVAL":      "OPEN > CHALLENGED EXPIRED CANCELLED",
	"DISPUTE":        "OPEN > ACCEPTED EXPIRED CANCELLED CHALLENGED; CHALLENGED > WON LOST",
	"PREARBITRATION": "OPEN > ACCEPTED EXPIRED CANCELLED CHALLENGED; CHALLENGED > WON LOST",
}

// becomes lists the types that a type may change to, and from which statuses; "" means any status.
var becomes = []struct {
	from processor.DisputeType
	in   string
	to   processor.DisputeType
}{{"RETRIEVAL", "", "DISPUTE"}, {"DISPUTE", "LOST CHALLENGED", "PREARBITRATION"}}

// modelOf returns every place of the contract, the single steps between places, and leads: the
// pairs of places that any number of steps joins. It reads the text above, and uses another
// algorithm than the rules.
func modelOf() (places []dispute.Place, steps, leads map[[2]dispute.Place]bool) {
	steps, leads = map[[2]dispute.Place]bool{}, map[[2]dispute.Place]bool{}
	for _, typ := range processor.DisputeTypes {
		seen := map[dispute.Place]bool{}
		add := func(status string) dispute.Place {
			p := dispute.Place{Type: typ, Status: processor.DisputeStatus(status)}
			if !seen[p] {
				seen[p], places = true, append(places, p)
			}
			return p
		}
		for rule := range strings.SplitSeq(contract[typ], "; ") {
			from, to, _ := strings.Cut(rule, " > ")
			for status := range strings.FieldsSeq(to) {
				steps[[2]dispute.Place{add(from), add(status)}] = true
			}
		}
	}
	for _, b := range becomes {
		for _, p := range places {
			if p.Type == b.from && (b.in == "" || slices.Contains(strings.Fields(b.in), string(p.Status))) {
				steps[[2]dispute.Place{p, {Type: b.to, Status: "OPEN"}}] = true
			}
		}
	}
	for s := range steps {
		leads[s] = true
	}
	for _, p := range places {
		leads[[2]dispute.Place{p, p}] = true
	}
	for _, via := range places { // Floyd and Warshall
		for _, a := range places {
			for _, b := range places {
				if leads[[2]dispute.Place{a, via}] && leads[[2]dispute.Place{via, b}] {
					leads[[2]dispute.Place{a, b}] = true
				}
			}
		}
	}
	return places, steps, leads
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// factAt returns the fact that a dispute is at a place at a processor's time.
func factAt(id string, p dispute.Place, at time.Time) dispute.Fact {
	return dispute.Fact{EventID: id, At: at, Type: p.Type, Status: p.Status, ReasonCode: "10.4", Amount: 100, Currency: "EUR"}
}

// tell records facts in the given order. It returns the state and the types of the events; "" for a
// fact without an event.
func tell(t interface{ Fatal(...any) }, facts ...dispute.Fact) (s dispute.State, events []string) {
	for i, f := range facts {
		e, err := dispute.DecideRecord(s, dispute.Record{
			At: noon.Add(time.Duration(i) * time.Hour), ID: "01dispute", Account: "acct", Fact: f,
			Subject: dispute.Subject{Payment: "01payment", Processor: "ADYEN", ProcessorDisputeID: "dp_1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		if e != nil {
			name, s = strings.TrimPrefix(e.Type(), "dispute."), dispute.Evolve(s, e)
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		events = append(events, name)
	}
	return s, events
}

// TestAnyOrder checks any part of a possible history in any order with repeats: the newest fact
// determines the dispute, it is opened once, each change is recorded once, and nothing is rejected.
func TestAnyOrder(t *testing.T) {
	places, steps, _ := modelOf()
	seedtest.Check(t, func(t *rapid.T) {
		at := rapid.SampledFrom(places).Draw(t, "begins")
		clock := noon
		var whole []dispute.Fact
		for i := 0; ; i++ {
			whole = append(whole, factAt(fmt.Sprint("event ", i), at, clock))
			var next []dispute.Place
			for _, p := range places {
				if steps[[2]dispute.Place{at, p}] {
					next = append(next, p)
				}
			}
			if len(next) == 0 || rapid.IntRange(0, 9).Draw(t, "ends") == 0 {
				break
			}
			if rapid.IntRange(0, 3).Draw(t, "stays") > 0 {
				at = rapid.SampledFrom(next).Draw(t, "next")
			}
			clock = clock.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "seconds")) * time.Second) // also at the same time
		}
		var sent []dispute.Fact
		for _, f := range whole {
			for range rapid.IntRange(0, 3).Draw(t, "times") {
				sent = append(sent, f)
			}
		}
		if len(sent) == 0 {
			return
		}
		sent = rapid.Permutation(sent).Draw(t, "order")
		s, events := tell(t, sent...)
		checkAnyOrder(t, whole, sent, s, events)
	})
}

// checkAnyOrder compares the outcome with a simple model: the last fact of the list among those
// received.
func checkAnyOrder(t *rapid.T, whole, sent []dispute.Fact, s dispute.State, events []string) {
	newest, seen := -1, map[string]bool{}
	for i, f := range sent {
		place := slices.IndexFunc(whole, func(w dispute.Fact) bool { return w.EventID == f.EventID })
		want := "noted"
		switch {
		case seen[f.EventID]:
			want = ""
		case newest < 0:
			want = "opened"
		case place > newest && whole[place].Place() != whole[newest].Place():
			want = "changed"
		}
		seen[f.EventID], newest = true, max(newest, place)
		if events[i] != want {
			t.Fatalf("%d: %s at %s was %q, want %q\n%v", i, f.Place(), f.At, events[i], want, sent)
		}
	}
	if s.Current.Place() != whole[newest].Place() {
		t.Fatalf("the dispute is %s, want %s", s.Current.Place(), whole[newest].Place())
	}
}

// TestAnything checks random facts: each disposition equals the model's, which inserts the fact by
// time and compares all neighbours.
func TestAnything(t *testing.T) {
	_, _, leads := modelOf()
	seedtest.Check(t, func(t *rapid.T) {
		var counted, sent []dispute.Fact
		var want []string
		for i := range rapid.IntRange(1, 12).Draw(t, "facts") {
			p := dispute.Place{Type: rapid.SampledFrom(processor.DisputeTypes).Draw(t, "type"), Status: rapid.SampledFrom(processor.DisputeStatuses).Draw(t, "status")}
			f := factAt(fmt.Sprint(i), p, noon.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "at"))*time.Second+time.Duration(i)*time.Millisecond))
			sent = append(sent, f)
			with := append(slices.Clone(counted), f)
			slices.SortFunc(with, func(a, b dispute.Fact) int { return a.At.Compare(b.At) })
			possible := leads[[2]dispute.Place{p, p}]
			for j := 1; j < len(with); j++ {
				possible = possible && leads[[2]dispute.Place{with[j-1].Place(), with[j].Place()}]
			}
			last := with[len(with)-1]
			switch {
			case !possible:
				want = append(want, "rejected")
				continue
			case len(counted) == 0:
				want = append(want, "opened")
			case last.EventID == f.EventID && with[len(with)-2].Place() != p:
				want = append(want, "changed")
			default:
				want = append(want, "noted")
			}
			counted = with
		}
		s, events := tell(t, sent...)
		if !slices.Equal(events, want) {
			t.Fatalf("sent %v\n got %v\nwant %v", sent, events, want)
		}
		if len(counted) > 0 && s.Current.Place() != counted[len(counted)-1].Place() || s.Exists() != (len(counted) > 0) {
			t.Fatalf("the dispute is %s of %v", s.Current.Place(), counted)
		}
	})
}
