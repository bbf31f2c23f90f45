package deliverylog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// dropRig is a folder with a log whose segments of deliveries are small, and its clock.
type dropRig struct {
	t      *testing.T
	dir    string
	now    time.Time
	server *embedded.Server
	store  *engine.Store
	d      *deliverylog.Stream
	places map[string]uint64
	open   map[string]bool
}

func newDropRig(t *testing.T) *dropRig {
	r := &dropRig{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC), places: map[string]uint64{}, open: map[string]bool{}}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *dropRig) start() {
	r.t.Helper()
	if err := r.tryStart(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *dropRig) tryStart() (err error) {
	if r.server, err = embedded.Start(embedded.Config{Dir: r.dir, Name: "test"}); err != nil {
		return err
	}
	c := eventstoretest.Config(r.server)
	c.SegmentBytes, c.Now = 64<<10, func() time.Time { return r.now }
	if r.store, err = engine.Open(context.Background(), c); err != nil {
		return errors.Join(err, r.server.Close())
	}
	r.d = r.store.Deliveries()
	return nil
}

func (r *dropRig) stop() {
	if r.store != nil {
		if err := errors.Join(r.store.Close(), r.server.Close()); err != nil {
			r.t.Error(err)
		}
	}
	r.store = nil
}

func (r *dropRig) put(name string, open bool) {
	r.t.Helper()
	place, err := r.d.Put(context.Background(), name, r.places[name], []byte(name), open)
	if err != nil {
		r.t.Fatal(err)
	}
	r.places[name], r.open[name] = place, open
}

// fill puts deliveries, each with an outcome, and closes their segment.
func (r *dropRig) fill(prefix string, n int) {
	r.t.Helper()
	for _, open := range []bool{true, false} {
		for i := range n {
			r.put(fmt.Sprintf("acct1.end1.%s%d.KIND", prefix, i), open)
		}
	}
	r.roll()
}

// roll closes the open segment.
func (r *dropRig) roll() {
	r.t.Helper()
	_, open, err := r.d.Segments(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	r.d.CloseSegment(open.Number)
	eventually(r.t, time.Minute, "a new segment", func() error {
		_, now, err := r.d.Segments(context.Background())
		if err == nil && now.Number <= open.Number {
			err = fmt.Errorf("segment %d is open", now.Number)
		}
		return err
	})
}

// drop appends the floor behind the oldest segment.
func (r *dropRig) drop() error {
	ctx := context.Background()
	oldest, _, err := r.d.Segments(ctx)
	if err != nil {
		return err
	}
	_, err = r.d.Drop(ctx, oldest.Number, oldest.Newest, []uint64{1, 1})
	return err
}

func (r *dropRig) streams() (names []string) {
	r.t.Helper()
	all, err := filepath.Glob(filepath.Join(r.dir, "jetstream", "*", "streams", "DELIVERIES*"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, path := range all {
		names = append(names, filepath.Base(path))
	}
	return names
}

// check checks the content of the stream: names that begin with gone are not there, all others are.
func (r *dropRig) check(gone string) {
	r.t.Helper()
	ctx := context.Background()
	for name, place := range r.places {
		last, err := r.d.Last(ctx, name)
		dropped := gone != "" && strings.Contains(name, "."+gone)
		switch {
		case dropped && !errors.Is(err, eventstore.ErrNotFound):
			r.t.Errorf("%s: %+v %v", name, last, err)
		case !dropped && (err != nil || last.Seq != place || string(last.Body) != name):
			r.t.Errorf("%s stands at %d: %+v %v", name, place, last, err)
		}
		if _, err := r.d.At(ctx, place); errors.Is(err, deliverylog.ErrDropped) != dropped {
			r.t.Errorf("%s at %d: %v", name, place, err)
		}
	}
	page, _, err := r.d.Scan(ctx, 1, 10_000)
	for _, stored := range page {
		if gone != "" && strings.Contains(stored.Name, "."+gone) {
			r.t.Errorf("%s is read", stored.Name)
		}
	}
	if err != nil || len(page) == 0 {
		r.t.Error(len(page), err)
	}
	if err := r.store.Scrub(ctx); err != nil {
		r.t.Error(err)
	}
	if err := r.store.Healthy(); err != nil {
		r.t.Error(err)
	}
}

// TestDrop checks that the oldest segment is dropped as a whole, and only if no delivery in it is
// open. Deliveries that continue from it stay, and the dropped names are free again. This holds
// over starts, with the tip store and without it.
func TestDrop(t *testing.T) {
	t.Parallel()
	r := newDropRig(t)
	ctx := context.Background()
	r.put("acct1.end1.waits.KIND", true)
	r.put("acct1.end1.goeson.KIND", true)
	r.put("beside", true)
	r.fill("old", 40)
	if err := r.drop(); !errors.Is(err, deliverylog.ErrHeld) {
		t.Fatalf("a segment with open deliveries: %v", err)
	}
	for _, name := range []string{"acct1.end1.waits.KIND", "acct1.end1.goeson.KIND", "beside"} {
		r.put(name, true) // copied forward
	}
	r.put("acct1.end1.goeson.KIND", false)
	r.fill("new", 40)
	before := r.streams()
	if err := r.drop(); err != nil {
		t.Fatal(err)
	}
	r.check("old")
	if err := r.d.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if after := r.streams(); len(after) != len(before)-1 || slices.Contains(after, "DELIVERIES_1") {
		t.Errorf("streams %q, before %q", after, before)
	}
	r.check("old")
	if err := r.drop(); !errors.Is(err, deliverylog.ErrHeld) { // the next segment has the records that were copied forward
		t.Errorf("the next segment: %v", err)
	}
	delete(r.places, "acct1.end1.old7.KIND")
	r.put("acct1.end1.old7.KIND", true) // as a first record
	delete(r.places, "acct1.end1.old7.KIND")
	for _, tips := range []string{"kept", "lost"} {
		r.stop()
		if tips == "lost" {
			if err := os.RemoveAll(filepath.Join(r.dir, "tips")); err != nil {
				t.Fatal(err)
			}
		}
		r.start()
		if floor := r.d.Floor(); floor.Segment != 1 || !slices.Equal(floor.Log, []uint64{1, 1}) {
			t.Errorf("tips %s: %+v", tips, floor)
		}
		if last, err := r.d.Last(ctx, "acct1.end1.old7.KIND"); err != nil {
			t.Errorf("tips %s: planned anew: %+v %v", tips, last, err)
		}
		checkOldest(t, r.d, 2)
	}
}

func checkOldest(t *testing.T, d *deliverylog.Stream, number uint32) {
	t.Helper()
	if oldest, _, err := d.Segments(context.Background()); err != nil || oldest.Number != number {
		t.Errorf("the oldest segment is %+v %v, want %d", oldest, err, number)
	}
}

// TestDropCrash: after a crash between any two steps of dropping, the next start goes on with it,
// and the records that were dropped never come back.
func TestDropCrash(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(*testing.T, *dropRig){
		"before the tip store forgets": func(*testing.T, *dropRig) {},
		"before the tip store has the floor": func(t *testing.T, r *dropRig) {
			older(t, r)
		},
		"while the server deletes the stream": halfDeleted,
		"while the server deletes the stream, and the tip store is lost": func(t *testing.T, r *dropRig) {
			halfDeleted(t, r)
			if err := os.RemoveAll(filepath.Join(r.dir, "tips")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newDropRig(t)
			r.fill("old", 40)
			copyTips(t, r)
			r.fill("new", 40)
			if err := r.drop(); err != nil {
				t.Fatal(err)
			}
			crash(t, r)
			r.stop()
			r.start()
			r.check("old")
			if err := r.d.Sweep(context.Background()); err != nil {
				t.Fatal(err)
			}
			r.check("old")
			if names := r.streams(); slices.Contains(names, "DELIVERIES_1") {
				t.Errorf("streams %q", names)
			}
		})
	}
}

// halfDeleted stops the log, and leaves of the first segment what a crash leaves while the server
// deletes it.
func halfDeleted(t *testing.T, r *dropRig) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(r.dir, "jetstream", "*", "streams", "DELIVERIES_1", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatal(blocks, err)
	}
	last := blocks[len(blocks)-1]
	block, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.d.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.stop()
	all, err := filepath.Glob(filepath.Join(r.dir, "jetstream", "*", "streams", "DELIVERIES_2"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	half := filepath.Join(filepath.Dir(all[0]), "DELIVERIES_1")
	if err := os.MkdirAll(filepath.Join(half, "msgs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, "msgs", filepath.Base(last)), block, 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyTips keeps a copy of the tip store as it is now.
func copyTips(t *testing.T, r *dropRig) {
	t.Helper()
	r.stop()
	if err := os.CopyFS(filepath.Join(r.dir, "tips-before"), os.DirFS(filepath.Join(r.dir, "tips"))); err != nil {
		t.Fatal(err)
	}
	r.start()
}

// older stops the log and replaces the tip store by the copy: its newest changes are lost.
func older(t *testing.T, r *dropRig) {
	t.Helper()
	r.stop()
	tips := filepath.Join(r.dir, "tips")
	if err := errors.Join(os.RemoveAll(tips), os.Rename(filepath.Join(r.dir, "tips-before"), tips)); err != nil {
		t.Fatal(err)
	}
}

// TestSegmentGone: a segment of deliveries that is gone without having been dropped is damage, with
// the tip store and without it; the folder is refused unchanged.
func TestSegmentGone(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"DELIVERIES_1", "DELIVERIES_2"} {
		for _, tips := range []string{"kept", "lost"} {
			t.Run(which+", tips "+tips, func(t *testing.T) {
				t.Parallel()
				r := newDropRig(t)
				for _, prefix := range []string{"one", "two", "three"} {
					r.fill(prefix, 20)
				}
				if which == "DELIVERIES_2" { // the first one was dropped as it should be
					if err := errors.Join(r.drop(), r.d.Sweep(context.Background())); err != nil {
						t.Fatal(err)
					}
				}
				r.stop()
				gone, err := filepath.Glob(filepath.Join(r.dir, "jetstream", "*", "streams", which))
				if err != nil || len(gone) != 1 {
					t.Fatal(gone, err)
				}
				if err := os.RemoveAll(gone[0]); err != nil {
					t.Fatal(err)
				}
				if tips == "lost" {
					if err := os.RemoveAll(filepath.Join(r.dir, "tips")); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.tryStart(); !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), which) || !strings.Contains(err.Error(), "was not changed") {
					t.Errorf("%v", err)
				}
				r.store = nil
			})
		}
	}
}

// eventually calls check again and again until it passes; the server gives no signal to wait for.
func eventually(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.After(within)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: not within %s: %v", what, within, err)
		case <-again.C:
		}
	}
}
