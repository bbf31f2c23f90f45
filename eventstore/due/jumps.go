package due

import "time"

// leastJump is how far the clock must be set for Jumps to notice: less is the work of a time service.
const leastJump = time.Second

// Jumps notices that the clock was set forward, for waits that a process measures itself and that should end no later than
// the clock shows their time. The zero value has seen nothing. It is not safe for concurrent use.
type Jumps struct{ clock, own time.Time }

// Forward returns by how much the clock was set forward since the last call: zero if it was not, or by less than a second.
// A machine that slept looks the same.
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
