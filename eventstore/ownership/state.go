package ownership

import (
	"cmp"
	"time"

	"payledger/eventstore/format"
)

// Anyone as the next owner lets the first node that needs the shard have it.
const Anyone = "*"

// State is what a node knows about the owner of a shard. The caller guards it with a lock. The zero
// State belongs to the sole writer of an embedded log, which may always append and has no leases.
type State struct {
	self  string
	clock func() Reading

	known   bool   // a group that is no visitor's was seen, or there is no group yet
	newest  uint64 // the newest group that was seen
	owner   string // the writer of the newest group that is no visitor's; "": nobody who takes requests
	next    string // whom that group names as the next owner
	giver   string // the node whose group named this one, or anyone, as the next owner, if no other node has owned the shard since
	since   Reading
	change  uint64        // the group by which another node than before takes requests
	changed Reading       // when that group was seen
	silent  time.Duration // until then, on the clock, the target counts as silent: it left a request without an answer
	missed  bool          // the target has not answered since such a request
	beyond  bool          // a group of it came after such a request

	began  Reading // of the lease: before the first sending of this node's newest acknowledged group
	leased bool
}

// New returns the state of a node that knows nothing about the shard yet. The clock must be safe
// for the caller's goroutines.
func New(self string, clock func() Reading) State {
	return State{self: self, clock: clock, since: clock()}
}

// Now returns a reading of the clock.
func (s *State) Now() (now Reading) {
	if s.clock != nil {
		now = s.clock()
	}
	return now
}

// Empty notes that the shard has no group.
func (s *State) Empty() { s.known = true }

// Known reports whether the owner is known.
func (s *State) Known() bool { return s.known || s.self == "" }

// Saw notes that a group was applied, or was found in the log as one of the newest. Groups come in
// their order; an old one changes nothing.
func (s *State) Saw(seq uint64, w format.Writer) {
	if s.self == "" || seq <= s.newest {
		return
	}
	s.newest = seq
	if w.Visitor {
		return
	}
	s.missed = s.missed && w.Node == s.Target()
	s.beyond = s.missed
	switch {
	case w.Node == s.self:
	case w.Next == s.self || w.Next == Anyone:
		s.leased, s.giver = false, w.Node
	default:
		s.leased, s.giver = false, ""
	}
	before := cmp.Or(s.next, s.owner)
	s.known, s.owner, s.next, s.since, s.silent = true, w.Node, w.Next, s.clock(), 0
	if before != cmp.Or(s.next, s.owner) {
		s.change, s.changed = seq, s.since
		s.missed, s.beyond = false, false
	}
}

// Found notes the writer of the newest group that is no visitor's, before the groups that were
// seen.
func (s *State) Found(w format.Writer) {
	if s.self != "" && !s.known {
		s.known, s.owner, s.next = true, w.Node, w.Next
	}
}

// Acknowledged notes the acknowledgement of a group of this node, which it has seen. asOf was read
// before its first sending; the group was sent once.
func (s *State) Acknowledged(asOf Reading) {
	if s.Owns() {
		s.began, s.leased = asOf, true
	}
}

// Void ends the lease: a group of this node names the next owner, or has an unknown outcome.
func (s *State) Void() { s.leased = false }

// Owns reports whether this node is the owner, and has named no other one.
func (s *State) Owns() bool { return s.self != "" && s.owner == s.self && s.next == "" }

// Target returns the node that takes requests for the shard; "" if there is none, or it is this
// node.
func (s *State) Target() string {
	target := s.owner
	if s.next != "" {
		target = s.next
	}
	if target == s.self || target == Anyone {
		return ""
	}
	return target
}

// Giver returns the node that this node has the shard from; "" if it was not handed over.
func (s *State) Giver() string { return s.giver }

// Named reports whether the owner's newest group names this node as the next owner.
func (s *State) Named() bool { return s.self != "" && s.next == s.self }

// Expects reports whether a node takes requests since a moment ago, and does not know it yet, as it
// had applied the groups up to head: the owner has named it, or it has taken the shard over and
// waits for the acknowledgement.
func (s *State) Expects(node string, head uint64) bool {
	return node != "" && node == s.Target() && head < s.change && s.clock().Since(s.changed) < Patience
}

// MayAppend reports whether this node may put events into a group.
func (s *State) MayAppend() bool {
	switch {
	case s.self == "":
		return true
	case s.known && s.Target() == "":
		return true
	default:
		return s.Silent() && s.Wait() == 0
	}
}

// Wait returns how long this node must still wait before it may take the shard over.
func (s *State) Wait() time.Duration { return max(0, Absence-s.clock().Since(s.since)) }

// Unanswered notes that the target left a request without an answer for Patience, or that there is
// no such node.
func (s *State) Unanswered(target string) {
	if target == s.Target() {
		s.silent, s.missed = s.clock().Up+silence, true
	}
}

// Answered notes that a node answered.
func (s *State) Answered(target string) {
	if target == s.Target() {
		s.silent, s.missed, s.beyond = 0, false, false
	}
}

// Beyond reports whether a group of the target came after the target had left a request without an
// answer: it works, and this node does not reach it. The next report needs one more such group.
func (s *State) Beyond() bool {
	beyond := s.beyond
	s.beyond = false
	return beyond
}

// silence is how long an unanswered request counts: an owner that is alive answers the next one.
const silence = time.Second

// Silent reports whether the target left a recent request without an answer, or is not known.
func (s *State) Silent() bool { return !s.Known() || s.silent > 0 && s.clock().Up < s.silent }

// Holds reports whether this node may answer from memory what it read from memory before the call.
func (s *State) Holds() bool {
	if !s.leased || !s.Owns() {
		return false
	}
	now := s.clock()
	return now.Since(s.began) < Lease && !now.jumped(s.began)
}

// Aging reports whether the lease has run for half its time: a reader then lets it be renewed.
func (s *State) Aging() bool { return s.leased && s.clock().Since(s.began) > Lease/2 }
