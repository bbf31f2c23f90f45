package httpapi

import (
	"testing"
	"time"
)

// TestRateLimitOfNodes: in sum over all nodes a caller gets at least half and at most twice the limit, and a node that leaves gives its
// share back to the others.
func TestRateLimitOfNodes(t *testing.T) {
	t.Parallel()
	const limit, seconds = 50, 20
	for _, nodes := range []int{1, 2, 3} {
		for _, used := range []int{1, nodes} { // the caller uses one node, or all of them evenly
			now, serving := time.Unix(1000, 0), nodes
			all := make([]*limits, nodes)
			for i := range all {
				all[i] = newLimits(limit, func() int { return serving }, func() time.Time { return now })
			}
			allowed := func() (n int) { // in some seconds, of four times the limit
				for range seconds * 4 * limit {
					now = now.Add(time.Second / (4 * limit))
					for _, node := range all[:used] {
						if node.wait(caller{byAPIKey, "key"}, limit) == 0 {
							n++
						}
					}
				}
				return n
			}
			allowed() // uses the first burst up
			if n := allowed(); n < limit*seconds/2-1 || n > 2*limit*seconds {
				t.Errorf("%d of %d nodes allowed %d requests in %d s; the limit is %d a second", used, nodes, n, seconds, limit)
			}
			serving, all = 1, all[:1]
			used = 1
			allowed()
			if n := allowed(); n < limit*seconds-1 || n > limit*seconds+1 {
				t.Errorf("the last of %d nodes allowed %d requests in %d s", nodes, n, seconds)
			}
		}
	}
}
