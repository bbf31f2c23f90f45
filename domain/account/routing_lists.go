package account

import (
	"fmt"
	"slices"

	"payledger/domain/processor"
)

// RouteList is a list of processors that decides about payments (D15): that of a rule, or the
// default.
type RouteList struct {
	Place      int    // of the rule, from 1; 0: the default
	Rule       string // the rule's name; "": the default
	Processors []processor.Name
}

// String names the list within a sentence.
func (l RouteList) String() string {
	if l.Place == 0 {
		return "the default list"
	}
	return fmt.Sprintf("routing rule %d, “%s”", l.Place, l.Rule)
}

// Lists returns the lists of the rules in their order, and the default list if it is not empty.
func (r Routing) Lists() (all []RouteList) {
	for i := range r.Rules {
		all = append(all, r.list(i))
	}
	if len(r.Default) > 0 {
		all = append(all, RouteList{Processors: r.Default})
	}
	return all
}

func (r Routing) list(i int) RouteList {
	return RouteList{Place: i + 1, Rule: r.Rules[i].Name, Processors: r.Rules[i].Processors}
}

// ListFor returns the list that decides about a payment; false if there is none, and all processors
// are tried.
func (r Routing) ListFor(f RouteFacts) (RouteList, bool) {
	if i := r.Match(f); i >= 0 {
		return r.list(i), true
	}
	return RouteList{Processors: r.Default}, len(r.Default) > 0
}

// Stopped returns the lists without a processor that takes payments. A payment about which one of
// them decides is refused: no other list replaces it.
func (r Routing) Stopped(takes func(processor.Name) bool) []RouteList {
	return slices.DeleteFunc(r.Lists(), func(l RouteList) bool { return slices.ContainsFunc(l.Processors, takes) })
}
