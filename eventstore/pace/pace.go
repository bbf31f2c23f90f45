package pace

import "time"

const (
	// Longest is the longest wait.
	Longest = 20 * time.Millisecond
	// window is the time after which a short round counts no more: the servers may be farther away
	// now.
	window = 30 * time.Second
)

// Pace has what a shard knows of its last groups. The zero value has seen none.
type Pace struct {
	mean    time.Duration    // of the last rounds, the newest ones count most
	least   [2]time.Duration // the shortest rounds of this window and of the one before; 0: none
	since   time.Time        // the start of this window
	ended   time.Time        // the last acknowledgement
	writers int              // drafts in the last group, and waiting for the next one when it was acknowledged
}

// Acknowledged notes the acknowledgement of a group that was sent a round ago, with the number of
// its drafts and of those that waited for the next group.
func (p *Pace) Acknowledged(now time.Time, round time.Duration, writers int) {
	round = max(round, 1) // 0 stands for none
	if now.Sub(p.since) > window {
		p.least, p.since = [2]time.Duration{0, p.least[0]}, now
	}
	if p.least[0] == 0 || round < p.least[0] {
		p.least[0] = round
	}
	if p.mean == 0 {
		p.mean = round
	}
	p.mean += (round - p.mean) / 8
	p.ended, p.writers = now, writers
}

// Wait returns how long the drafts that wait now let others join them; 0 or less: they leave now.
func (p *Pace) Wait(now time.Time, waiting int) time.Duration {
	if waiting >= p.writers {
		return 0
	}
	return min(p.mean-p.needed(), Longest) - now.Sub(p.ended)
}

// needed is the time that a group takes when the servers keep up.
func (p *Pace) needed() time.Duration {
	if p.least[1] == 0 {
		return p.least[0]
	}
	return min(p.least[0], p.least[1])
}
