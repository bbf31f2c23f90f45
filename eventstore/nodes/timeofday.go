package nodes

import "time"

// timeOfDay compares this node's time of day with that of the NATS servers, which note when they
// store a beat. No lease rests on it.
type timeOfDay struct {
	beat  uint64    // the newest beat
	at    time.Time // the time of day here, in the middle between sending the beat and its acknowledgement
	ahead time.Duration
	known bool
	off   bool // the difference is logged
}

// maxAhead is the difference that is logged. Requests to servers in an election take longer, but
// their times are of one clock.
const maxAhead = time.Second

// Ahead returns how far this node's time of day is ahead of that of the NATS servers, as of the
// newest beat that it has read back; less than 0: it is behind. The error is at most half of the
// time that the beat took. false: there is none yet, or the node is alone.
func (r *Registry) Ahead() (time.Duration, bool) {
	if r == nil {
		return 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.day.ahead, r.day.known
}

// compare notes the time at which a server has stored a beat. It runs under r.mu.
func (r *Registry) compare(own Record) {
	d := &r.day
	if own.seq != d.beat || own.stored.IsZero() {
		return
	}
	d.ahead, d.known = d.at.Sub(own.stored), true
	switch off := d.ahead.Abs() > maxAhead; {
	case off && !d.off:
		r.Logger.Error().Dur("aheadMs", d.ahead).Msg("this node's time of day is not that of the NATS servers: set the clocks")
	case !off && d.off:
		r.Logger.Info().Msg("this node's time of day is that of the NATS servers again")
	}
	d.off = d.ahead.Abs() > maxAhead
}
