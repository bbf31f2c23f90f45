package nodes_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/clustertest"
)

// ends asks for the ends, and reports whether the node waited for the end of the log instead.
func (n *testNode) ends(t *testing.T, hurry bool) (position []uint64, waited bool) {
	t.Helper()
	began := n.Clock()
	done := make(chan error)
	go func() {
		var asOf time.Duration
		var err error
		position, asOf, err = n.Ends(t.Context(), hurry)
		if asOf < began {
			t.Errorf("the answer is as of %s before the call", began-asOf)
		}
		done <- err
	}()
	for {
		select {
		case <-n.caught:
			waited = true
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return position, waited
		}
	}
}

// told asks for the ends until the nodes tell them: on a busy machine an answer may come too late,
// and the node then waits for the log.
func (n *testNode) told(t *testing.T, hurry bool) []uint64 {
	t.Helper()
	for began := time.Now(); ; {
		got, waited := n.ends(t, hurry)
		if !waited {
			return got
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("the node waits for the log each time: %d", got)
		}
	}
}

// endsOfMany asks for the ends twenty times at once. Each waits for the end of the log if it has
// to.
func (n *testNode) endsOfMany(t *testing.T) {
	t.Helper()
	stop := make(chan struct{})
	var all, log sync.WaitGroup
	log.Go(func() {
		for {
			select {
			case <-n.caught:
			case <-stop:
				return
			}
		}
	})
	for range 20 {
		all.Go(func() {
			if position, _, err := n.Ends(t.Context(), true); err != nil || len(position) != 2 {
				t.Error(position, err)
			}
		})
	}
	all.Wait()
	close(stop)
	log.Wait()
}

// hear returns a channel with the messages on a subject.
func hear(t *testing.T, c *clustertest.Cluster, subject string) chan *nats.Msg {
	t.Helper()
	nc, err := nats.Connect(c.URL(clustertest.User))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	heard := make(chan *nats.Msg, 100)
	if _, err := nc.ChanSubscribe(subject, heard); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return heard
}

// TestEnds: Ends returns the largest end that any node knew at the call, also of nodes that do not
// serve yet and of nodes that joined just before, and appends nothing. A node that does not answer,
// and one that has ended, make it wait for the end of the log, the latter once.
func TestEnds(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	a, b := newNode(t, c, "a", 0), newNode(t, c, "b", 40*time.Hour)
	a.append(7, 1)
	b.append(5, 9)
	if _, waited := a.ends(t, true); !waited {
		t.Error("a node that has not read the log knows its end")
	}
	a.serve(t)
	b.serve(t)
	for _, hurry := range []bool{true, false} {
		if got := a.told(t, hurry); !slices.Equal(got, []uint64{7, 9}) {
			t.Errorf("%d", got)
		}
	}
	late := newNode(t, c, "late", -time.Hour)
	late.append(8, 2)
	if got := a.told(t, true); !slices.Equal(got, []uint64{8, 9}) {
		t.Errorf("with a node that has just joined: %d", got)
	}
	b.link.answers.shut()
	if got, waited := a.ends(t, true); !waited || !slices.Equal(got, []uint64{0, 0}) {
		t.Errorf("with a node that hears nothing: %d, waited for the log: %t", got, waited)
	}
	questions := hear(t, c, "payledger.ends")
	a.endsOfMany(t) // they share the silence
	for range 6 {   // and each later beat does
		a.ends(t, true)
	}
	if n := len(questions); n > 2 { // a record that the silent node wrote before may still be a new one
		t.Errorf("%d more questions although a node is silent", n)
	}
	b.link.answers.free()
	b.Close(t.Context())
	if got, waited := a.ends(t, true); !waited {
		t.Errorf("after the end of a node: %d without the log", got)
	}
	a.told(t, true)
}

// TestEndsAfterAWhile: a node that asked nobody for longer than a tenure waits for the end of the
// log: nodes may have come and gone meanwhile, whose records are no longer kept.
func TestEndsAfterAWhile(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, 3, nil).Formed(t)
	a := newNode(t, c, "a", 0)
	a.serve(t)
	a.told(t, true)
	a.skew.Add(int64(a.Tenure) + int64(time.Second))
	if _, waited := a.ends(t, true); !waited {
		t.Error("did not wait for the log after a long while")
	}
	a.endsOfMany(t) // callers of a moment share a question, and all get the answer
}
