package account_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
)

// TestProcessorYoungerThanAccount: an account that was created before the name of a processor came
// has it, and not enabled. No payment goes there until the merchant enables it; then it is tried in
// the place of the enumeration. New accounts have all enabled (D14.1, D15).
func TestProcessorYoungerThanAccount(t *testing.T) {
	last := processor.Names[len(processor.Names)-1]
	c := created()
	c.Processors = nil
	for _, name := range processor.Names[:len(processor.Names)-1] {
		c.Processors = append(c.Processors, account.FirstProcessor(c.ID, name, true))
	}
	s := account.Evolve(account.State{}, c)
	s.Routing.Rules = []account.Rule{{Name: "pounds", When: account.Conditions{Currencies: []domain.Currency{"GBP"}}, Processors: []processor.Name{last}}}
	pounds := account.RouteFacts{Currency: "GBP"}
	expect := func(when string, enabled bool) {
		t.Helper()
		all, want := s.AtEach(), account.FirstProcessor(c.ID, last, enabled)
		if len(all) != len(processor.Names) || all[len(all)-1] != want {
			t.Errorf("%s: %+v", when, all)
		}
		if got, known := s.Processor(last); !known || got != want {
			t.Errorf("%s: %+v", when, got)
		}
		if got := slices.Contains(names(s.Route(facts)), last); got != enabled {
			t.Errorf("%s: without a rule for it: %v", when, names(s.Route(facts)))
		}
		if got := s.Route(pounds); (len(got) == 1) != enabled {
			t.Errorf("%s: with a rule for it: %v", when, got)
		}
	}
	expect("at first", false)
	e, err := account.DecideChangeProcessor(s, account.ChangeProcessor{At: at, Name: last, Enabled: ptr(true)})
	if err != nil {
		t.Fatal(err)
	}
	before := s
	s = account.Evolve(s, e)
	expect("enabled", true)
	if d := cmp.Diff(c.Processors, before.Processors); d != "" {
		t.Errorf("the state handed out before has changed: %s", d)
	}
	if got := names(s.Route(facts)); !slices.Equal(got, processor.Names) {
		t.Errorf("the order is %v", got)
	}
	if again, err := account.DecideChangeProcessor(s, account.ChangeProcessor{Name: last, Enabled: ptr(true)}); again != nil || err != nil {
		t.Errorf("enabled twice: %v %v", again, err)
	}
	if _, known := s.Processor("SQUARE"); known {
		t.Error("a name that is not in the enumeration is known")
	}
}
