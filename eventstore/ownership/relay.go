package ownership

import (
	"math/rand/v2"
	"slices"
	"time"
)

// relayFor is how long requests take the way through another node: then the owner itself is tried
// again.
const relayFor = 10 * time.Second

// Relay finds a way to an owner whose groups come while it leaves the requests of this node without
// an answer: the link between their servers is cut, and a third node reaches both. The caller
// guards it with a lock. The zero Relay sends every request to the owner itself.
type Relay struct {
	via   string // the node that hands requests on to the owner; "": none
	since time.Time
}

// To returns the node that a request for the owner goes to.
func (r *Relay) To(owner string) string {
	if r.via == "" || r.via == owner || time.Since(r.since) > relayFor {
		r.via = ""
		return owner
	}
	return r.via
}

// Is reports whether a node hands requests on to the owner.
func (r *Relay) Is(node string) bool { return r.via != "" && r.via == node }

// Failed notes that a request which was sent to a node got no answer, or that this node cannot hand
// it on. The next one goes to the owner itself if it went another way, else through one of the
// nodes that serve.
func (r *Relay) Failed(to, owner, self string, serving []string) {
	switch {
	case to == r.via:
		r.via = ""
		return
	case to != owner, r.via != "": // it went a way that is out of use
		return
	}
	others := slices.DeleteFunc(slices.Clone(serving), func(node string) bool { return node == self || node == owner })
	if len(others) > 0 {
		r.via, r.since = others[rand.IntN(len(others))], time.Now() //nolint:gosec // any of them will do
	}
}

// End lets the next request go to the owner itself: it is another one.
func (r *Relay) End() { r.via = "" }
