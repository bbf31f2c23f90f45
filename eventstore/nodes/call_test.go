package nodes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/clustertest"
	"payledger/eventstore/nodes"
)

// answering makes node b answer calls.
func answering(t *testing.T, b *testNode, handle nodes.Handle) (stop func(context.Context)) {
	t.Helper()
	stop, err := b.AnswerCalls(handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		stop(over)
	})
	return stop
}

func TestCalls(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 1, nil)
	a := newNode(t, c, "a", 0)
	for i, test := range []func(*testing.T, *testNode, *testNode){
		answerIsWhole, answerWaitsForReader, callerGoesAway, answerIsCut, callIsNotTaken, nothingBeforeGo, largeCalls, noLease, comesOnce, topicIsServed,
	} {
		b := newNode(t, c, fmt.Sprintf("b%d", i), 0)
		b.serve(t)
		test(t, a, b)
	}
	b := newNode(t, c, "last", 0)
	b.serve(t)
	callerDies(t, newNode(t, c, "dies", 0), b)
}

func answerIsWhole(t *testing.T, a, b *testNode) {
	answering(t, b, func(_ context.Context, request []byte, send func([]byte) error) error {
		for i := range 40 {
			if err := send(fmt.Append(request, " ", i, ";")); err != nil {
				return err
			}
		}
		return nil
	})
	answer, err := a.Call(t.Context(), b.Self.Node, []byte("piece"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	var got, want bytes.Buffer
	for i := range 40 {
		fmt.Fprint(&want, "piece ", i, ";")
	}
	piece, err := answer.Next(t.Context())
	for ; err == nil; piece, err = answer.Next(t.Context()) {
		got.Write(piece)
	}
	if !errors.Is(err, io.EOF) || got.String() != want.String() {
		t.Errorf("%v after %s", err, got.String())
	}
}

// answerWaitsForReader: a node sends four pieces ahead of the caller, and not more.
func answerWaitsForReader(t *testing.T, a, b *testNode) {
	var sent atomic.Int64
	answering(t, b, func(_ context.Context, _ []byte, send func([]byte) error) error {
		for range 20 {
			if err := send([]byte("x")); err != nil {
				return err
			}
			sent.Add(1)
		}
		return nil
	})
	answer, err := a.Call(t.Context(), b.Self.Node, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for i, most := range []int64{4, 6, 8} {
		eventually(t, fmt.Sprint(most, " pieces"), func() bool { return sent.Load() == most })
		for range 2 {
			if _, err := answer.Next(t.Context()); err != nil || sent.Load() > most+2 {
				t.Fatal(i, err, sent.Load())
			}
		}
	}
}

func callerGoesAway(t *testing.T, a, b *testNode) {
	ended := make(chan error, 1)
	answering(t, b, func(ctx context.Context, _ []byte, send func([]byte) error) error {
		err := send([]byte("x"))
		<-ctx.Done()
		ended <- errors.Join(err, ctx.Err())
		return ctx.Err()
	})
	answer, err := a.Call(t.Context(), b.Self.Node, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := answer.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func answerIsCut(t *testing.T, a, b *testNode) {
	answering(t, b, func(_ context.Context, request []byte, _ func([]byte) error) error {
		if string(request) == "panic" {
			panic("on purpose")
		}
		return errors.New("broken on purpose")
	})
	for request, want := range map[string]string{"": "broken on purpose", "panic": "panic"} { // what a panic said is in the log of the node
		answer, err := a.Call(t.Context(), b.Self.Node, []byte(request))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := answer.Next(t.Context()); !errors.Is(err, nodes.ErrCallCut) || !strings.HasSuffix(err.Error(), want) {
			t.Error(err)
		}
		answer.Close()
	}
}

// callIsNotTaken: a node that does not exist, that has stopped answering, or that has as many calls
// as it takes, takes no call.
func callIsNotTaken(t *testing.T, a, b *testNode) {
	if _, err := a.Call(t.Context(), b.Self.Node, nil); !errors.Is(err, nodes.ErrNotTaken) {
		t.Errorf("without anybody: %v", err)
	}
	free := make(chan struct{})
	var working atomic.Int64
	stop := answering(t, b, func(context.Context, []byte, func([]byte) error) error {
		working.Add(1)
		<-free
		return nil
	})
	var answers []*nodes.Answer
	for range nodes.MaxCalls {
		answer, err := a.Call(t.Context(), b.Self.Node, nil)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	if _, err := a.Call(t.Context(), b.Self.Node, nil); !errors.Is(err, nodes.ErrNotTaken) {
		t.Errorf("one too many: %v", err)
	}
	eventually(t, "all calls", func() bool { return working.Load() == nodes.MaxCalls })
	stopped := make(chan struct{})
	go func() { stop(t.Context()); close(stopped) }()
	eventually(t, "the end", func() bool {
		_, err := a.Call(t.Context(), b.Self.Node, nil)
		return errors.Is(err, nodes.ErrNotTaken) && errors.Is(err, nats.ErrNoResponders)
	})
	select {
	case <-stopped:
		t.Error("the stop did not wait for the calls under way")
	default:
	}
	close(free)
	<-stopped
	for _, answer := range answers {
		if _, err := answer.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		answer.Close()
	}
}

// callerDies: a caller that died reads nothing: the node does not wait for it.
func callerDies(t *testing.T, a, b *testNode) {
	ended := make(chan error, 1)
	answering(t, b, func(ctx context.Context, _ []byte, send func([]byte) error) error {
		err := send([]byte("x"))
		<-ctx.Done()
		ended <- err
		return ctx.Err()
	})
	answer, err := a.Call(t.Context(), b.Self.Node, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := answer.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.link.cut(true)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// largeCalls: the requests that a node works on at once have a bound in bytes, too.
func largeCalls(t *testing.T, a, b *testNode) {
	free := make(chan struct{})
	answering(t, b, func(context.Context, []byte, func([]byte) error) error { <-free; return nil })
	request := make([]byte, 5<<20)
	for range 6 {
		answer, err := a.Call(t.Context(), b.Self.Node, request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Close()
	}
	if _, err := a.Call(t.Context(), b.Self.Node, request); !errors.Is(err, nodes.ErrNotTaken) {
		t.Errorf("above the bound: %v", err)
	}
	small, err := a.Call(t.Context(), b.Self.Node, []byte("small"))
	if err != nil {
		t.Fatal(err)
	}
	close(free)
	if _, err := small.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	small.Close()
}

// noLease: a node that may answer no requests takes no calls: another node may answer them.
func noLease(t *testing.T, a, b *testNode) {
	answering(t, b, func(context.Context, []byte, func([]byte) error) error { return nil })
	b.fail(errors.New("the views stopped"))
	if _, err := a.Call(t.Context(), b.Self.Node, nil); !errors.Is(err, nodes.ErrNotTaken) {
		t.Errorf("by a node without a lease: %v", err)
	}
}

// comesOnce: each message of an answer comes once: not also to the connection's subscription for
// the answers to its requests.
func comesOnce(t *testing.T, a, b *testNode) {
	piece := make([]byte, nodes.MaxPiece)
	answering(t, b, func(_ context.Context, _ []byte, send func([]byte) error) error {
		for range 20 {
			if err := send(piece); err != nil {
				return err
			}
		}
		return nil
	})
	before := a.conn.Stats().InBytes
	answer, err := a.Call(t.Context(), b.Self.Node, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for err == nil {
		_, err = answer.Next(t.Context())
	}
	if got := a.conn.Stats().InBytes - before; !errors.Is(err, io.EOF) || got > 30*nodes.MaxPiece {
		t.Errorf("%v after %d bytes for an answer of %d", err, got, 20*nodes.MaxPiece)
	}
}

// nothingBeforeGo: a node does nothing on account of a call whose caller has not said go: that
// caller may have asked another node.
func nothingBeforeGo(t *testing.T, a, b *testNode) {
	stop := answering(t, b, func(context.Context, []byte, func([]byte) error) error {
		t.Error("the node worked on a call that its caller gave up")
		return nil
	})
	asked, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Call(asked, b.Self.Node, nil); !errors.Is(err, nodes.ErrNotTaken) {
		t.Errorf("with a context that has ended: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	stop(over)
}

// TestStandIn: each node without views has one stand-in, which plans its events at once. Nodes that
// only have views are guests.
func TestStandIn(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 1, nil)
	const writer = "0a0a0a0a-0000-4000-8000-000000000000"
	role := func(r nodes.Role) func(*nodes.Record) { return func(record *nodes.Record) { record.Role = r } }
	var planners []*testNode
	for _, id := range []string{"0b0b0b0b-0000-4000-8000-000000000000", "0c0c0c0c-0000-4000-8000-000000000000"} {
		planners = append(planners, newNodeOf(t, c, id, role(nodes.RoleViews)))
	}
	api := newNodeOf(t, c, writer, role(nodes.RoleAPI))
	for _, n := range append(planners, api) {
		n.serve(t)
	}
	command := api.Mark("ffffffff-ffff-4fff-8fff-ffffffffffff")
	eventually(t, "one stand-in", func() bool { return planners[0].Plans(command) != planners[1].Plans(command) })
	if own := planners[0].Mark(command); !planners[0].Plans(own) {
		t.Error("a node does not plan its own events")
	}
	for _, n := range append(planners, api) {
		eventually(t, "who shares the shards", func() bool {
			serving, guests := n.Sharing()
			slices.Sort(serving)
			slices.Sort(guests)
			return slices.Equal(serving, []string{writer, planners[0].Self.Node, planners[1].Self.Node}) && slices.Equal(guests, serving[1:])
		})
	}
}

// topicIsServed: a message reaches the node that serves its topic, whose answer may be empty.
// Before and afterwards no node serves it.
func topicIsServed(t *testing.T, a, b *testNode) {
	ask := func(text string) (string, error) {
		answer, err := a.Ask(t.Context(), "topic", []byte(text), func() {})
		return string(answer), err
	}
	if _, err := ask("before"); !errors.Is(err, nodes.ErrNobody) {
		t.Errorf("before: %v", err)
	}
	stop, err := b.AnswerTo("topic", func(_ context.Context, text []byte) []byte { return text })
	if err == nil {
		err = b.conn.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"text", ""} {
		if answer, err := ask(text); answer != text || err != nil {
			t.Errorf("%q: %q, %v", text, answer, err)
		}
	}
	stop()
	if err := b.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask("afterwards"); !errors.Is(err, nodes.ErrNobody) {
		t.Errorf("afterwards: %v", err)
	}
}
