package due

import "time"

const leastJump = time.Second // the smallest jump that Jumps reports: a time service makes smaller ones

// Jumps detects that the clock was set forward. It serves waits that a process measures itself and
// that must also end when the clock shows their time. The zero value is ready for its first call.
// It is not safe for concurrent use.
type Jumps struct{ clock, own time.Time }

// Forward returns by how much the clock was set forward since the last call: zero for less than a
// second. A machine that slept looks the same.
func (j *Jumps) Forward(now time.Time) time.Duration {
	now, own := now.Round(0), time.Now()
	jump := now.Sub(j.clock) - own.Sub(j.own)
	begun := !j.own.IsZero()
	j.clock, j.own = now, own
	if !begun || jump < leastJump {
		return 0
	}
	return jump
}
