package deliverylog_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// TestPutBehindDropped: a record that continues a dropped one is a conflict.
func TestPutBehindDropped(t *testing.T) {
	t.Parallel()
	r := newDropRig(t)
	r.fill("old", 10)
	r.fill("new", 10)
	if err := r.drop(); err != nil {
		t.Fatal(err)
	}
	name := "acct1.end1.old3.KIND"
	if _, err := r.d.Put(context.Background(), name, r.places[name], []byte("resent"), false); !errors.Is(err, eventstore.ErrConflict) {
		t.Error(err)
	}
}

// dropNodes are nodes of a cluster, each with its own tip store on the disk.
type dropNodes struct {
	t      *testing.T
	dir    string
	config engine.Config
}

func newDropNodes(t *testing.T) *dropNodes {
	t.Helper()
	return &dropNodes{t, t.TempDir(), eventstoretest.Cluster(t)}
}

func (n *dropNodes) start(node string) *engine.Store {
	n.t.Helper()
	c := n.config
	c.SegmentBytes, c.Tips = 64<<10, filepath.Join(n.dir, node)
	return eventstoretest.OpenOn(n.t, c)
}

// rig is the node that drops.
func (n *dropNodes) rig() *dropRig {
	n.t.Helper()
	s := n.start("a")
	return &dropRig{
		t: n.t, dir: n.dir, now: time.Now(), store: s, d: s.Deliveries(),
		places: map[string]uint64{}, open: map[string]bool{},
	}
}

// TestNodeAwayDuringDrop starts a node that was away while another one dropped the last records
// that the first one had read.
func TestNodeAwayDuringDrop(t *testing.T) {
	t.Parallel()
	n := newDropNodes(t)
	r := n.rig()
	r.put("acct1.end1.old0.KIND", true)
	r.put("acct1.end1.old0.KIND", false)
	if err := n.start("b").Close(); err != nil {
		t.Fatal(err)
	}
	r.fill("old", 10)
	r.fill("new", 10)
	if err := errors.Join(r.drop(), r.d.Sweep(context.Background())); err != nil {
		t.Fatal(err)
	}
	name := "acct1.end1.new3.KIND"
	if last, err := n.start("b").Deliveries().Last(context.Background(), name); err != nil || last.Seq != r.places[name] {
		t.Errorf("%+v %v", last, err)
	}
}

// TestBehindTheFloor checks that no node reports damage for a record whose predecessor was just
// dropped.
func TestBehindTheFloor(t *testing.T) {
	t.Parallel()
	for how, writesFirst := range map[string]bool{"a first record by who drops": true, "a next record by the other": false} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			n := newDropNodes(t)
			r, b := n.rig(), n.start("b")
			other := b.Deliveries()
			r.fill("old", 10)
			r.fill("new", 10)
			name := "acct1.end1.old3.KIND"
			if _, err := other.Last(ctx, name); err != nil {
				t.Fatal(err)
			}
			oldest, _, err := r.d.Segments(ctx)
			if err == nil {
				_, err = r.d.Drop(ctx, oldest.Number, oldest.Newest, []uint64{1, 1})
			}
			if err != nil {
				t.Fatal(err)
			}
			if writesFirst {
				_, err = r.d.Put(ctx, name, 0, []byte("anew"), true)
			} else if _, err = other.Put(ctx, name, r.places[name], []byte("resent"), false); errors.Is(err, eventstore.ErrConflict) {
				err = nil
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []*deliverylog.Stream{r.d, other} {
				if _, err := d.Last(ctx, name); err != nil && !errors.Is(err, eventstore.ErrNotFound) {
					t.Error(err)
				}
			}
			if damaged := append(b.Damaged(), r.store.Damaged()...); len(damaged) > 0 {
				t.Errorf("shards %v count as damaged: %v %v", damaged, b.Healthy(), r.store.Healthy())
			}
		})
	}
}
