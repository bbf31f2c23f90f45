package statistics

import (
	"fmt"
	"slices"
	"strings"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

// ByTries selects payments by the outcomes of their authorizations at all processors. An empty
// field does not select.
type ByTries struct {
	Processors []string // names
	Results    []string // APPROVED, DECLINED, FAILED
}

var results = map[string]outcome{"APPROVED": approved, "DECLINED": declined, "FAILED": failed}

// Condition returns the condition on the columns tries and processor of a row; "" for none.
func (t ByTries) Condition() string {
	var any []string
	for place, name := range t.places() {
		if len(t.Results) == 0 {
			any = append(any, "processor = '"+name+"'", fmt.Sprintf("tries >> %d & 3 <> 0", outcomeBits*place)) // the newest one may have no outcome yet
			continue
		}
		for _, result := range t.Results {
			if to, known := results[result]; known {
				any = append(any, fmt.Sprintf("tries >> %d & 3 = %d", outcomeBits*place, to))
			}
		}
	}
	switch {
	case len(t.Processors) == 0 && len(t.Results) == 0:
		return ""
	case len(any) == 0:
		return "FALSE"
	default:
		return "(" + strings.Join(any, " OR ") + ")"
	}
}

// Holds reports whether a payment has one of the processors with one of the results.
func (t ByTries) Holds(s *payment.State) bool {
	if len(t.Processors) == 0 && len(t.Results) == 0 {
		return true
	}
	tries := Tries(s)
	newest := s.Authorization()
	for place, name := range t.places() {
		at := outcomeAt(tries, place)
		if len(t.Results) == 0 && (at != none || newest != nil && string(newest.Target.Processor) == name) {
			return true
		}
		if at != none && slices.ContainsFunc(t.Results, func(result string) bool { return results[result] == at }) {
			return true
		}
	}
	return false
}

// places returns the places of the selected processors in processor.Names, with the names.
func (t ByTries) places() map[int]string {
	all := map[int]string{}
	for place, name := range processor.Names {
		if len(t.Processors) == 0 || slices.Contains(t.Processors, string(name)) {
			all[place] = string(name)
		}
	}
	return all
}
