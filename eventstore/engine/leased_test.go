package engine_test

import (
	"errors"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

type leased struct {
	eventstoretest.Nodes
	valid func() error
}

func (l leased) Valid() error { return l.valid() }

// TestLeased: a node with a lease reads its own state without a request. The lease is checked after
// the read: a node whose lease ends during it, as after a stop of the process, reads the state of
// all nodes.
func TestLeased(t *testing.T) {
	t.Parallel()
	r := cluster(t, 1)
	s, other := r.store(), r.other()
	key := newKey()
	first := mustAdd(t, s, key, added{}).Recorded
	requests := s.Conn().Stats().OutMsgs
	s.ServeWith(eventstoretest.Nodes{})
	for range 100 {
		got, err := s.Load(testContext(t), key, eventstore.Leased)
		if err != nil || got.Seq < first.Seq {
			t.Fatal(got, err)
		}
	}
	if sent := s.Conn().Stats().OutMsgs - requests; sent >= 100 {
		t.Errorf("%d messages for 100 reads under a lease", sent)
	}
	var newest *eventstore.Recorded
	s.ServeWith(leased{valid: func() error {
		newest = mustAdd(t, other, key, added{}).Recorded
		return errors.New("the lease is over")
	}})
	got, err := s.Load(testContext(t), key, eventstore.Leased)
	if err != nil || got.Seq != newest.Seq {
		t.Errorf("%v, %v; the newest event stands at %d", got, err, newest.Seq)
	}
}
