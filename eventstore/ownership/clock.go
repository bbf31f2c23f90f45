package ownership

import "time"

// Reading is a moment on the clock of this machine.
type Reading struct {
	Up  time.Duration // since the machine started, sleep included
	Day time.Time     // the time of day, which anybody can set
}

// Since returns how long ago an earlier reading was.
func (r Reading) Since(earlier Reading) time.Duration { return r.Up - earlier.Up }

// jumped reports whether the time of day moved against the clock by more than MaxJump since an
// earlier reading.
func (r Reading) jumped(earlier Reading) bool {
	moved := r.Day.UnixNano() - earlier.Day.UnixNano() - int64(r.Since(earlier)) // without the monotonic readings in Day
	return time.Duration(moved).Abs() > MaxJump
}

// Lengths of time; see the package's rules.
const (
	Lease    = 1500 * time.Millisecond // a lease, from before the first sending of the owner's newest acknowledged group
	Absence  = 2 * time.Second         // from when a node first saw the owner's newest group, until it may take the shard over
	Patience = 300 * time.Millisecond  // how long the owner may leave a request without an answer
	MaxJump  = 250 * time.Millisecond  // of the time of day, while a lease holds
)
