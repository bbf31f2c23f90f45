package nodes

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// owner is the node that does the work in these tests.
const owner = "0a1b2c3d-owner"

// newObserver returns a registry with the test's records.
func newObserver(now *time.Duration) *Registry {
	return &Registry{
		Config: Config{Self: Record{Node: "99999999-observer"}, Clock: func() time.Duration { return *now }, Beat: DefaultBeat, Tenure: DefaultTenure, Absence: DefaultAbsence},
		peers:  map[string]*peer{}, open: true,
	}
}

// TestTenure: a process acts under a name only while its tenure lasts, a late acknowledgement does
// not renew the tenure, and the next beat has another name.
func TestTenure(t *testing.T) {
	t.Parallel()
	now := time.Hour
	r := newObserver(&now)
	r.Self.Node = owner
	beat := func(sent, acked time.Duration) {
		now = acked
		r.work.beat(r.work.next(sent), sent, acked, r.Tenure)
	}
	check := func(name string, acts bool) {
		t.Helper()
		got, err := r.Holder()
		if got != name || acts != (err == nil) || err != nil && !errors.Is(err, ErrCutOff) {
			t.Errorf("at %s: %s, %v", now-time.Hour, got, err)
		}
	}
	check(owner+".1", false)
	beat(time.Hour, time.Hour+time.Second)
	check(owner+".1", true)
	beat(time.Hour+2*time.Second, time.Hour+4*time.Second)
	now = time.Hour + 2*time.Second + DefaultTenure - 1
	check(owner+".1", true)
	now++
	check(owner+".1", false)
	beat(time.Hour+6*time.Second, time.Hour+8*time.Second) // it was sent in time
	check(owner+".1", false)
	beat(time.Hour+8*time.Second, time.Hour+9*time.Second)
	check(owner+".2", true)
	if !r.Gone(owner+".1") || r.Gone(owner+".2") {
		t.Error("the names of this node")
	}
}

// TestGoneExcludes checks, for any delays of beats, acknowledgements and reads, that a name acts no
// more when an observer counts it as gone. No clock is compared with another one.
func TestGoneExcludes(t *testing.T) {
	t.Parallel()
	taken := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		delay := func() time.Duration {
			if random.IntN(4) > 0 {
				return time.Duration(random.IntN(200)) * time.Millisecond
			}
			return time.Duration(random.IntN(9000)) * time.Millisecond
		}
		type stored struct {
			at, acked time.Duration
			record    Record
		}
		var beats []stored
		ends := map[uint64]time.Duration{} // of the tenures, by term
		var own work
		for sent, seq := time.Hour, uint64(1); seq < 40; seq++ {
			term := own.next(sent)
			at := sent + delay()
			acked := at + delay()
			own.beat(term, sent, acked, DefaultTenure)
			if own.term == term {
				ends[term] = own.until
			}
			beats = append(beats, stored{at, acked, Record{Node: owner, State: Serving, Term: term, seq: seq}})
			sent = acked + DefaultBeat
		}
		now := time.Hour
		r := newObserver(&now)
		for n := 0; n < 60; n++ {
			looked := now
			now += delay() // the read
			for _, b := range beats {
				if p := r.peers[owner]; b.at <= now && (p == nil || p.seq < b.record.seq) && (b.at <= looked || random.IntN(2) == 0) {
					r.peers[owner] = &peer{Record: b.record, since: now}
				}
			}
			r.work.recordsAsOf = looked
			for term, end := range ends {
				if name := owner + "." + string(rune('0'+term)); term < 10 && r.peers[owner] != nil && r.peers[owner].Term >= term && r.Gone(name) {
					taken++
					if end > now {
						t.Fatalf("seed %d: %s is gone at %s, and acts until %s", seed, name, now, end)
					}
				}
			}
			now += DefaultBeat
		}
	}
	if taken == 0 {
		t.Error("nothing was ever gone")
	}
}

// TestUnknown: a node that is not known yet may have just joined; it is gone if it stays unknown.
// An ended node is gone at once.
func TestUnknown(t *testing.T) {
	t.Parallel()
	now := time.Hour
	r := newObserver(&now)
	r.work.recordsAsOf = now
	r.ended = []Record{{Node: "ended", State: Ended, Term: 3}}
	if r.Gone(owner + ".1") {
		t.Error("a node that is not known yet is gone")
	}
	r.work.recordsAsOf += DefaultAbsence - 1
	if r.Gone(owner + ".1") {
		t.Error("too early")
	}
	r.work.recordsAsOf++
	if !r.Gone(owner + ".1") {
		t.Error("a node that stays unknown is not gone")
	}
	if !r.Gone("ended.3") {
		t.Error("an ended node is not gone")
	}
}

// TestMarks: the id of a command names its node.
func TestMarks(t *testing.T) {
	t.Parallel()
	now := time.Hour
	r := newObserver(&now)
	const command = "ffffffff-0000-4000-8000-000000000000"
	if got := r.Mark(command); got != "99999999"+command[8:] || !r.Left(got) {
		t.Errorf("marked %s", got)
	}
	theirs := "0a1b2c3d" + command[8:]
	r.peers[owner] = &peer{Record: Record{Node: owner, State: Serving, Term: 4}, since: now}
	r.work.recordsAsOf = now
	if r.Left(theirs) {
		t.Error("a node that works has left its commands")
	}
	r.work.recordsAsOf += DefaultAbsence
	if !r.Left(theirs) {
		t.Error("a node that is gone has not left its commands")
	}
	var alone *Registry
	if alone.Mark(command) != command || !alone.Left(command) || alone.Lost() != 0 {
		t.Error("a node that is alone")
	}
}
