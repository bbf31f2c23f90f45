package httpapi

import (
	"encoding/json"
	"testing"
	"time"

	"payledger/domain/seedtest"
)

// TestRateLimitOfNodes: in sum over all nodes a caller gets at least half and at most twice the
// limit, from one node or from all of them, and the last of several nodes allows the whole limit.
func TestRateLimitOfNodes(t *testing.T) {
	t.Parallel()
	for nodes := 1; nodes <= 9; nodes++ {
		if seedtest.Sampled() && nodes > 3 && nodes < 9 {
			continue
		}
		for _, limit := range []float64{1, 2, 10, 50} {
			for _, used := range []int{1, nodes} { // the caller uses one node, or all of them evenly
				for _, kind := range []access{byAPIKey, byClientToken} {
					testRateLimitOfNodes(t, nodes, used, limit, caller{kind, "it"})
				}
			}
		}
	}
}

func testRateLimitOfNodes(t *testing.T, nodes, used int, limit float64, who caller) {
	t.Helper()
	const delay = 0.2 // of messages, in seconds
	now, serving := time.Unix(1000, 0), nodes
	all := make([]*API, nodes)
	for i := range all {
		all[i] = &API{limits: newLimits(limit, func() int { return serving }, func() time.Time { return now })}
	}
	wanted := limit
	if who.Access != byAPIKey {
		wanted = max(minBrowserRate, limit)
	}
	seconds := 2 * (1 + float64(nodes)/wanted + float64(nodes)*delay)
	var due time.Time
	allowed := func() (n float64) { // of four times the limit, or more, at each node
		step := time.Duration(float64(time.Second) / max(4*wanted, 2/delay))
		for end := now.Add(time.Duration(seconds * float64(time.Second))); now.Before(end); now = now.Add(step) {
			for _, node := range all[:used] {
				if node.limits.wait(who) == 0 {
					n++
				}
			}
			if now.Before(due) {
				continue
			}
			due = now.Add(time.Duration(delay * float64(time.Second)))
			tellAll(t, all)
		}
		return n
	}
	for part := range 4 { // the first one has the full buckets
		if n := allowed(); n < wanted*seconds/2-1 || n > 2*wanted*seconds {
			t.Errorf("%d of %d nodes allowed %g requests in part %d, of %g s; the limit is %g a second", used, nodes, n, part, seconds, wanted)
		}
	}
	serving, all, used = 1, all[:1], 1
	allowed()
	if n := allowed(); n < wanted*seconds-1 || n > wanted*seconds+1 {
		t.Errorf("the last of %d nodes allowed %g requests in %g s; the limit is %g a second", nodes, n, seconds, wanted)
	}
}

// tellAll sends the numbers of each node to the others.
func tellAll(t *testing.T, all []*API) {
	t.Helper()
	for i, from := range all {
		data, err := from.Allowed()
		if err != nil || len(data) > 0 && !json.Valid(data) {
			t.Fatalf("%s %v", data, err)
		}
		for j, to := range all {
			if i == j || data == nil {
				continue
			}
			if err := to.AllowedElsewhere(data); err != nil {
				t.Fatal(err)
			}
		}
	}
}
