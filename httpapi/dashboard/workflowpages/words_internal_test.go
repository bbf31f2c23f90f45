package workflowpages

import "testing"

// TestSkippedRunsHaveTheirReason: a run that was skipped because a run caused its event does not
// blame the condition.
func TestSkippedRunsHaveTheirReason(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]string{
		"":                              "The condition did not hold",
		"no such key":                   "The condition could not be evaluated",
		causedBy + "r of this workflow": "This workflow itself caused the event, so it does not run again",
		causedBy + "r, the last of 5 that led to each other": "Workflows had started each other too often",
	} {
		r := run{Status: "SKIPPED"}
		r.Condition.Error = why
		if got := r.Means(); got != want {
			t.Errorf("%q is %q, not %q", why, got, want)
		}
	}
}
