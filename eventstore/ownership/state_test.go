package ownership_test

import (
	"testing"
	"time"

	"payledger/eventstore/format"
	"payledger/eventstore/ownership"
)

// clock is a machine's clock that a test moves.
type clock struct{ now ownership.Reading }

func newClock() *clock {
	return &clock{ownership.Reading{Up: time.Hour, Day: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
}

func (c *clock) read() ownership.Reading { return c.now }

// pass lets time pass.
func (c *clock) pass(d time.Duration) { c.now.Up, c.now.Day = c.now.Up+d, c.now.Day.Add(d) }

func by(node string) format.Writer { return format.Writer{Node: node} }

func visit(node string) format.Writer { return format.Writer{Node: node, Visitor: true} }

// owning returns the state of node a, which has appended group 1 and has its acknowledgement.
func owning(c *clock) ownership.State {
	s := ownership.New("a", c.read)
	s.Empty()
	s.Saw(1, by("a"))
	s.Acknowledged(c.read())
	return s
}

// following returns the state of node b, which has seen group 1 of node a.
func following(c *clock) ownership.State {
	s := ownership.New("b", c.read)
	s.Saw(1, by("a"))
	return s
}

func TestLeaseHolds(t *testing.T) {
	for name, c := range map[string]struct {
		after func(*ownership.State, *clock)
		want  bool
	}{
		"at once":                     {func(*ownership.State, *clock) {}, true},
		"at its end":                  {func(_ *ownership.State, c *clock) { c.pass(ownership.Lease) }, false},
		"a moment before its end":     {func(_ *ownership.State, c *clock) { c.pass(ownership.Lease - 1) }, true},
		"schedule 3: a stopped owner": {func(_ *ownership.State, c *clock) { c.pass(time.Minute) }, false},
		"schedule 4: a pause of the clock": {func(_ *ownership.State, c *clock) {
			c.now.Day = c.now.Day.Add(ownership.MaxJump + 1)
		}, false},
		"a time of day that somebody set back": {func(_ *ownership.State, c *clock) {
			c.now.Day = c.now.Day.Add(-ownership.MaxJump - 1)
		}, false},
		"a slow time of day": {func(_ *ownership.State, c *clock) { c.now.Day = c.now.Day.Add(ownership.MaxJump) }, true},
		"schedule 7: no acknowledgement": {func(s *ownership.State, c *clock) {
			c.pass(ownership.Lease / 2)
			s.Saw(2, by("a")) // stored, and applied: but nothing says when it was sent
			c.pass(ownership.Lease / 2)
		}, false},
		"a renewal counts from before the sending": {func(s *ownership.State, c *clock) {
			asOf := c.read()
			c.pass(ownership.Lease)
			s.Saw(2, by("a"))
			s.Acknowledged(asOf)
		}, false},
		"a renewal": {func(s *ownership.State, c *clock) {
			c.pass(ownership.Lease)
			asOf := c.read()
			s.Saw(2, by("a"))
			s.Acknowledged(asOf)
		}, true},
		"schedule 8: a visitor's group": {func(s *ownership.State, _ *clock) { s.Saw(2, visit("b")) }, true},
		"another node's group":          {func(s *ownership.State, _ *clock) { s.Saw(2, by("b")) }, false},
		"a group of a process without a name": {func(s *ownership.State, _ *clock) {
			s.Saw(2, by(""))
		}, false},
		"a group that names the next owner is on its way": {func(s *ownership.State, _ *clock) { s.Void() }, false},
		"a group that names the next owner": {func(s *ownership.State, c *clock) {
			s.Saw(2, format.Writer{Node: "a", Next: "b"})
			s.Acknowledged(c.read())
		}, false},
		"schedule 9: a group that was found is a visitor's": {func(s *ownership.State, c *clock) {
			s.Saw(2, by("b"))
			s.Saw(3, visit("a"))
			s.Acknowledged(c.read())
		}, false},
		"an old group again": {func(s *ownership.State, _ *clock) { s.Saw(1, by("b")) }, true},
	} {
		clock := newClock()
		s := owning(clock)
		c.after(&s, clock)
		if got := s.Holds(); got != c.want {
			t.Errorf("%s: the lease holds: %t", name, got)
		}
	}
	var alone ownership.State
	if alone.Acknowledged(ownership.Reading{}); alone.Holds() || !alone.MayAppend() || !alone.Known() {
		t.Error("a log with one process has a lease, or takes no events")
	}
}

func TestMayAppend(t *testing.T) {
	wait := func(s *ownership.State, c *clock) {
		c.pass(ownership.Absence)
		s.Unanswered("a")
	}
	for name, c := range map[string]struct {
		after  func(*ownership.State, *clock)
		want   bool
		target string
	}{
		"a living owner":           {func(*ownership.State, *clock) {}, false, "a"},
		"an idle owner":            {func(_ *ownership.State, c *clock) { c.pass(time.Hour) }, false, "a"},
		"a dead owner":             {wait, true, "a"},
		"an owner that was silent": {func(s *ownership.State, c *clock) { wait(s, c); s.Answered("a") }, false, "a"},
		"an absence that is not over": {func(s *ownership.State, c *clock) {
			c.pass(ownership.Absence - 1)
			s.Unanswered("a")
		}, false, "a"},
		"schedule 5: a candidate that was stopped reads the owner's next group": {func(s *ownership.State, c *clock) {
			wait(s, c)
			s.Saw(2, by("a"))
		}, false, "a"},
		"schedule 6: the absence begins when the group is seen": {func(s *ownership.State, c *clock) {
			c.pass(ownership.Absence)
			s.Saw(2, by("a"))
			c.pass(ownership.Absence - 1)
			s.Unanswered("a")
		}, false, "a"},
		"schedule 8: visitors' groups do not delay it": {func(s *ownership.State, c *clock) {
			for seq := range uint64(20) {
				c.pass(ownership.Absence / 20)
				s.Saw(2+seq, visit("c"))
			}
			s.Unanswered("a")
		}, true, "a"},
		"an owner that was silent long ago": {func(s *ownership.State, c *clock) { wait(s, c); c.pass(time.Second) }, false, "a"},
		"somebody else is silent":           {func(s *ownership.State, c *clock) { c.pass(time.Hour); s.Unanswered("c") }, false, "a"},
		"it is named as the next owner": {func(s *ownership.State, _ *clock) {
			s.Saw(2, format.Writer{Node: "a", Next: "b"})
		}, true, ""},
		"anyone is the next owner": {func(s *ownership.State, _ *clock) {
			s.Saw(2, format.Writer{Node: "a", Next: ownership.Anyone})
		}, true, ""},
		"another one is": {func(s *ownership.State, _ *clock) { s.Saw(2, format.Writer{Node: "a", Next: "c"}) }, false, "c"},
		"another one is, and does not come": {func(s *ownership.State, c *clock) {
			s.Saw(2, format.Writer{Node: "a", Next: "c"})
			c.pass(ownership.Absence)
			s.Unanswered("c")
		}, true, "c"},
		"a process without a name appended": {func(s *ownership.State, _ *clock) { s.Saw(2, by("")) }, true, ""},
		"it took over":                      {func(s *ownership.State, c *clock) { wait(s, c); s.Saw(2, by("b")) }, true, ""},
	} {
		clock := newClock()
		s := following(clock)
		c.after(&s, clock)
		if got := s.MayAppend(); got != c.want || s.Target() != c.target {
			t.Errorf("%s: it may append: %t; it asks %q", name, got, s.Target())
		}
	}
}

// TestUnknownOwner: a node that starts behind groups of visitors waits as if it had just seen the
// owner's newest group.
func TestUnknownOwner(t *testing.T) {
	clock := newClock()
	s := ownership.New("b", clock.read)
	s.Saw(7, visit("c"))
	if clock.pass(ownership.Absence - 1); s.MayAppend() || s.Known() || !s.Silent() {
		t.Error("it does not wait for an owner that it does not know")
	}
	if clock.pass(1); !s.MayAppend() {
		t.Error("it waits longer than the absence")
	}
	s.Saw(6, by("b"))
	if s.Saw(8, visit("c")); s.Known() {
		t.Error("groups are noted out of their order")
	}
	s.Found(by("a")) // behind the visitors' groups
	s.Found(by("b"))
	if s.MayAppend() || s.Target() != "a" {
		t.Errorf("the owner that was found is not asked, but %q", s.Target())
	}
	s = ownership.New("b", clock.read)
	if s.Empty(); !s.MayAppend() {
		t.Error("an empty shard has an owner")
	}
}

// TestAging: readers renew a lease that has run for half its time.
func TestAging(t *testing.T) {
	clock := newClock()
	s := owning(clock)
	if clock.pass(ownership.Lease / 2); s.Aging() {
		t.Error("it is renewed in its first half")
	}
	if clock.pass(1); !s.Aging() || !s.Holds() {
		t.Error("it is not renewed in its second half")
	}
}

// TestExpects: only a node that takes requests since a moment ago may not know it yet.
func TestExpects(t *testing.T) {
	clock := newClock()
	s := following(clock)
	if !s.Expects("a", 0) || s.Expects("a", 1) || s.Expects("c", 0) || s.Expects("", 0) {
		t.Error("not the node that has taken the shard over, and has not applied its group, is expected")
	}
	clock.pass(ownership.Patience / 2)
	if s.Saw(2, by("a")); s.Expects("a", 1) {
		t.Error("a node is expected that knows that it is the owner")
	}
	if clock.pass(ownership.Patience / 2); s.Expects("a", 0) {
		t.Error("a node is expected for ever")
	}
	s.Saw(3, format.Writer{Node: "a", Next: "c"})
	if !s.Expects("c", 2) || s.Expects("c", 3) || s.Expects("a", 2) {
		t.Error("the node that was named is not expected")
	}
	if clock.pass(ownership.Patience); s.Expects("c", 2) {
		t.Error("the node that was named is expected for ever")
	}
}

// TestGiver: a node knows which node it has a shard from, until another node owns the shard.
func TestGiver(t *testing.T) {
	clock := newClock()
	for name, c := range map[string]struct {
		groups []format.Writer
		want   string
	}{
		"taken over":                      {[]format.Writer{by("a"), by("b")}, ""},
		"handed over":                     {[]format.Writer{{Node: "a", Next: "b"}}, "a"},
		"handed over, and used":           {[]format.Writer{{Node: "a", Next: "b"}, by("b"), visit("c"), by("b")}, "a"},
		"handed to anyone, and used":      {[]format.Writer{{Node: "a", Next: ownership.Anyone}, by("b")}, "a"},
		"handed on":                       {[]format.Writer{{Node: "a", Next: "b"}, by("b"), {Node: "b", Next: "c"}, by("c")}, ""},
		"handed on, and back":             {[]format.Writer{{Node: "a", Next: "b"}, by("b"), {Node: "b", Next: "c"}, {Node: "c", Next: "b"}}, "c"},
		"another node is the next one":    {[]format.Writer{{Node: "a", Next: "c"}}, ""},
		"another one took it for a while": {[]format.Writer{{Node: "a", Next: "b"}, by("c"), by("b")}, ""},
	} {
		s := ownership.New("b", clock.read)
		for i, w := range c.groups {
			s.Saw(uint64(i+1), w)
		}
		if got := s.Giver(); got != c.want {
			t.Errorf("%s: it has the shard from %q", name, got)
		}
	}
}
