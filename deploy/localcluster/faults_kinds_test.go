//go:build system

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// faultKind is a way to break a node of a cluster. strike breaks it, and returns the function that
// ends the part of the fault that heal does not end.
type faultKind struct {
	name   string
	strike func(*trial) (mend func() error, leader bool, err error)
}

var faultKinds = []faultKind{
	{"kill -9 of a NATS server", func(r *trial) (func() error, bool, error) { return r.onServer((*node).kill) }},
	{"kill -9 of an API node", func(r *trial) (func() error, bool, error) { return r.onAPI((*node).kill) }},
	{"pause of a NATS server", func(r *trial) (func() error, bool, error) { return r.onServer(paused) }},
	{"pause of an API node", func(r *trial) (func() error, bool, error) { return r.onAPI(paused) }},
	{"pause of the simulator", func(r *trial) (func() error, bool, error) { return nil, false, paused(r.c.simulator) }},
	{"orderly restart of a NATS server", func(r *trial) (func() error, bool, error) { return r.onServer(stopped) }},
	{"orderly restart of an API node", func(r *trial) (func() error, bool, error) { return r.onAPI(stopped) }},
	{"lost disk of a NATS server", (*trial).loseDisk},
	{"kill -9 of all NATS servers", func(r *trial) (func() error, bool, error) { return r.killAll() }},
	{"kill -9 of all NATS servers and API nodes", func(r *trial) (func() error, bool, error) { return r.killAll(r.c.apis...) }},
	{"cut of a NATS server", func(r *trial) (func() error, bool, error) { return r.onServer(cut) }},
	{"cut of an API node", func(r *trial) (func() error, bool, error) { return r.onAPI(cut) }},
	{"one-way cut between NATS servers", func(r *trial) (func() error, bool, error) {
		return r.onServer(func(n *node) error { return r.c.deafen(r.other(n), n) })
	}},
	{"one-way cut from an API node", func(r *trial) (func() error, bool, error) {
		return r.onAPI(func(n *node) error { return r.deafenAll(n, false) })
	}},
	{"one-way cut to an API node", func(r *trial) (func() error, bool, error) {
		return r.onAPI(func(n *node) error { return r.deafenAll(n, true) })
	}},
	{"slow links of a NATS server", func(r *trial) (func() error, bool, error) {
		_, _, err := r.onServer(slowed)
		return nil, false, err // a leader goes on
	}},
	{"slow links of an API node", func(r *trial) (func() error, bool, error) { return r.onAPI(slowed) }},
	{"false clock of an API node", (*trial).setClock},
}

func paused(n *node) error { return n.pause(true) }
func cut(n *node) error    { return n.cutOff(true) }
func slowed(n *node) error { return n.slowDown(slowLink) }

// stopped ends a node in order.
func stopped(n *node) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	n.ending.Store(true)
	return n.child.stop(ctx)
}

// next returns a kind of fault. Every kind comes once before one comes again.
func (r *trial) next() faultKind {
	if len(r.bag) == 0 {
		r.bag = append(r.bag, faultKinds...)
		r.random.Shuffle(len(r.bag), func(i, j int) { r.bag[i], r.bag[j] = r.bag[j], r.bag[i] })
	}
	kind := r.bag[0]
	r.bag = r.bag[1:]
	return kind
}

// strike breaks the cluster, lets the load go on for a while, and heals the cluster.
func (r *trial) strike(kind faultKind) {
	r.t.Helper()
	f := fault{kind: kind.name, from: r.load.now()}
	r.say("fault %d: %s", len(r.faults)+1, kind.name)
	mend, leader, err := kind.strike(r)
	f.leader = leader
	if err == nil {
		r.rest(r.holds())
		if mend != nil {
			err = mend()
		}
	}
	if _, healed := r.c.healAll(r.t.Context()); err == nil {
		err = healed
	}
	for i, a := range r.c.apis {
		r.load.setURL(i, a.url)
	}
	healed := r.load.now()
	if err == nil {
		err = r.recovered()
	}
	f.to = r.load.now()
	r.faults = append(r.faults, f)
	if err != nil {
		r.t.Errorf("%s, at %s: %v", kind.name, f.from, err)
		r.say("FAILED: %v", err)
	}
	r.say("  leader %v, broken %.1f s, recovered after %.1f s; %s", leader, (healed - f.from).Seconds(), (f.to - healed).Seconds(), r.load.counted())
}

// holds returns the length of a fault. Half of the faults outlast an election.
func (r *trial) holds() time.Duration {
	longest := 4 * time.Second
	if *faultTime > time.Minute && r.random.IntN(2) == 0 {
		longest = 15 * time.Second
	}
	return time.Second + time.Duration(r.random.Int64N(int64(longest)))
}

// rest lets the load go on.
func (r *trial) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.t.Context().Done():
	}
}

// onServer breaks a random NATS server, and reports whether it led a stream.
func (r *trial) onServer(strike func(*node) error) (func() error, bool, error) {
	i := r.random.IntN(len(r.c.nats))
	leader := r.c.observe(r.t.Context()).nodes[i].leads > 0
	r.say("  %s", r.c.nats[i].name)
	return nil, leader, strike(r.c.nats[i].node)
}

func (r *trial) onAPI(strike func(*node) error) (func() error, bool, error) {
	n := r.c.apis[r.random.IntN(len(r.c.apis))].node
	r.say("  %s", n.name)
	return nil, false, strike(n)
}

// other returns another NATS server.
func (r *trial) other(n *node) *node {
	for {
		if o := r.c.nats[r.random.IntN(len(r.c.nats))].node; o != n {
			return o
		}
	}
}

// deafenAll holds everything from an API node to the NATS servers, or from them to the node.
func (r *trial) deafenAll(n *node, back bool) error {
	var errs []error
	for _, s := range r.c.nats {
		if back {
			errs = append(errs, r.c.deafen(n, s.node))
		} else {
			errs = append(errs, r.c.deafen(s.node, n))
		}
	}
	return errors.Join(errs...)
}

// killAll kills all NATS servers and the given API nodes at once. They start again at once, too.
func (r *trial) killAll(apis ...*apiNode) (func() error, bool, error) {
	gone := r.c.nodes[:len(r.c.nats):len(r.c.nats)]
	for _, a := range apis {
		gone = append(gone, a.node)
	}
	var errs []error
	for _, n := range gone {
		n.ending.Store(true)
		errs = append(errs, n.child.signal(syscall.SIGKILL))
	}
	for _, n := range gone {
		<-n.child.ended
	}
	start := func() error { // all of them before one is healthy: two servers make a quorum
		ctx, cancel := context.WithTimeout(r.t.Context(), restartLimit)
		defer cancel()
		for _, n := range r.c.nats {
			n.ending.Store(false)
			if err := r.c.startNATS(ctx, n); err != nil {
				return r.c.failed(n.node, err)
			}
			r.c.follow(n.node)
		}
		var starting sync.WaitGroup
		errs := make([]error, len(apis))
		for i, a := range apis {
			starting.Go(func() { errs[i] = r.c.restart(r.t.Context(), a.node) })
		}
		starting.Wait()
		return errors.Join(errs...)
	}
	return start, false, errors.Join(errs...)
}

// loseDisk replaces a NATS server's disk by an empty one, as RUNBOOK.md does it: one server at a
// time, while the two others have everything.
func (r *trial) loseDisk() (func() error, bool, error) {
	if err := r.replicated(nil); err != nil {
		return nil, false, err
	}
	i := r.random.IntN(len(r.c.nats))
	n := r.c.nats[i]
	leader := r.c.observe(r.t.Context()).nodes[i].leads > 0
	r.say("  %s", n.name)
	if err := n.kill(); err != nil {
		return nil, leader, err
	}
	if err := os.RemoveAll(filepath.Join(n.dir, "store")); err != nil {
		return nil, leader, err
	}
	return func() error {
		if err := r.replicated(n); err != nil { // an empty server may vote
			return err
		}
		if err := r.c.restart(r.t.Context(), n.node); err != nil {
			return err
		}
		return r.replicated(nil)
	}, leader, nil
}

// setClock restarts an API node with a clock that is up to two minutes, or half a day, from the
// machine's.
func (r *trial) setClock() (func() error, bool, error) {
	a := r.c.apis[r.random.IntN(len(r.c.apis))]
	offset := time.Duration(r.random.Int64N(int64(4*time.Minute))) - 2*time.Minute
	if r.random.IntN(4) == 0 {
		offset *= 360
	}
	a.env = []string{"PAYLEDGER_TEST_CLOCK_OFFSET=" + offset.String()}
	r.say("  %s by %s", a.name, offset)
	return nil, false, errors.Join(stopped(a.node), r.c.restart(r.t.Context(), a.node))
}

// recoverLimit bounds the waits after a fault.
const recoverLimit = 5 * time.Minute

// recovered waits until every NATS server is healthy, and every API node took a change.
func (r *trial) recovered() error {
	ctx, cancel := context.WithTimeout(r.t.Context(), recoverLimit)
	defer cancel()
	for _, n := range r.c.nats {
		if err := n.awaitHealth(ctx); err != nil {
			return fmt.Errorf("%s is not healthy: %w", n.name, err)
		}
	}
	before := r.load.changes()
	err := every(ctx, 50*time.Millisecond, func() error {
		for i, n := range r.load.changes() {
			if a := r.c.apis[i]; !a.child.running() {
				return fmt.Errorf("%s ended: %w", a.name, a.child.err)
			}
			if n == before[i] {
				return errWait
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the API nodes took %v changes, before %v: %w", r.load.changes(), before, err)
	}
	return nil
}

// replicated waits until every server but one has every stream, every stream has a leader among
// them, and no replica lags.
func (r *trial) replicated(but *natsNode) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), recoverLimit)
	defer cancel()
	var seen string
	err := every(ctx, 50*time.Millisecond, func() error {
		s := r.c.observe(ctx)
		seen = ""
		if s.streams < logStreams || s.leaders < s.streams {
			seen = fmt.Sprintf("%d of %d streams have leaders; ", s.leaders, s.streams)
		}
		for i, n := range r.c.nats {
			if n != but && (s.nodes[i].lag > 0 || s.nodes[i].state != "up" || s.nodes[i].streams < s.streams) {
				seen += fmt.Sprintf("%s is %s with %d streams and lags %d; ", n.name, s.nodes[i].state, s.nodes[i].streams, s.nodes[i].lag)
			}
		}
		if seen != "" {
			return errWait
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the log is not on all servers: %s%w", seen, err)
	}
	return nil
}
