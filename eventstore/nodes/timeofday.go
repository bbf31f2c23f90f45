package nodes

import "time"

// timeOfDay compares this node's time of day with that of the NATS servers, which note when they
// store a beat. No lease rests on it.
type timeOfDay struct {
	beat        uint64        // the newest beat
	sent, acked time.Duration // readings of Clock
	at          time.Time     // the time of day here in the middle between both

	known  bool
	stored time.Time     // the time of the servers of a beat that was read back
	after  time.Duration // a reading of Clock after stored
	ahead  time.Duration // of the time of day here, as of that beat
	off    bool          // the difference is logged
}

// maxAhead is the difference that is logged.
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

// ServerTime returns a time of day that is over at the NATS servers: the time at which one stored a
// beat of this node, and the time that has passed here since it was acknowledged, which nobody can
// set. false: no beat was read back yet.
func (r *Registry) ServerTime() (time.Time, bool) {
	now := r.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.day.stored.Add(now - r.day.after), r.day.known
}

// compare notes the time at which a server has stored a beat. It runs under r.mu.
func (r *Registry) compare(own Record) {
	d := &r.day
	if own.seq != d.beat || own.stored.IsZero() {
		return
	}
	d.known, d.stored, d.after, d.ahead = true, own.stored, d.acked, d.at.Sub(own.stored)
	was := d.off
	d.off = d.ahead.Abs()-(d.acked-d.sent)/2 > maxAhead
	switch {
	case d.off && !was:
		r.Logger.Error().Dur("aheadMs", d.ahead).Msg("this node's time of day is not that of the NATS servers: set the clocks")
	case was && !d.off:
		r.Logger.Info().Msg("this node's time of day is that of the NATS servers again")
	}
}
