package deliverylog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"payledger/eventstore/deliverylog"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/position"
)

// reader is the reader of these tests, and reached its position. No other record has them.
const reader = "workflows"

var reached = []uint64{7 << 8, 0, 9 << 8}

func (r *dropRig) savePosition(at []uint64) {
	r.t.Helper()
	if err := eventstoretest.SavePosition(context.Background(), r.d, reader, at); err != nil {
		r.t.Fatal(err)
	}
}

// stands checks that the position stands.
func (r *dropRig) stands(when string, want []uint64) {
	r.t.Helper()
	if p, err := position.Open(context.Background(), r.d, reader, len(want)); err != nil || !slices.Equal(p.At(), want) {
		r.t.Errorf("%s: the position is %d %v", when, p.At(), err)
	}
}

// copyForward does what the notifier does before a drop: it copies the open records of the oldest
// segment.
func (r *dropRig) copyForward() {
	r.t.Helper()
	ctx := context.Background()
	oldest, _, err := r.d.Segments(ctx)
	if err == nil {
		err = r.d.Each(ctx, oldest.Number, func(stored deliverylog.Record, open bool) error {
			if !open {
				return nil
			}
			_, err := r.d.Put(ctx, stored.Name, stored.Seq, stored.Body, true)
			return err
		})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestPositionDropped drops the segment that has the only record of a position, with a kill between
// any two steps and with the tip store lost. The position stands after each step.
func TestPositionDropped(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name string
		do   func(*dropRig)
	}{
		{"nothing", func(*dropRig) {}},
		{"a drop that is refused", func(r *dropRig) {
			if err := r.drop(); !errors.Is(err, deliverylog.ErrHeld) {
				r.t.Errorf("the segment of the only record: %v", err)
			}
		}},
		{"the copy", (*dropRig).copyForward},
		{"the floor", func(r *dropRig) {
			if err := r.drop(); err != nil {
				r.t.Fatal(err)
			}
		}},
		{"the sweep", func(r *dropRig) {
			if err := r.d.Sweep(context.Background()); err != nil {
				r.t.Fatal(err)
			}
		}},
	}
	for killed := range steps {
		for _, tips := range []string{"kept", "lost", "older"} {
			t.Run(steps[killed].name+", tips "+tips, func(t *testing.T) {
				t.Parallel()
				r := newDropRig(t)
				r.savePosition(reached)
				r.fill("old", 20)
				if tips == "older" {
					copyTips(t, r)
				}
				for i, step := range steps {
					step.do(r)
					r.stands("after "+step.name, reached)
					if i != killed {
						continue
					}
					switch tips {
					case "older":
						older(t, r)
					case "lost":
						r.stop()
						if err := os.RemoveAll(filepath.Join(r.dir, "tips")); err != nil {
							t.Fatal(err)
						}
					default:
						r.stop()
					}
					r.start()
					r.stands("after a start behind "+step.name, reached)
				}
				checkOldest(t, r.d, 2)
				r.check("old")
				r.savePosition([]uint64{8 << 8, 1 << 8, 9 << 8})
				r.stands("at the end", []uint64{8 << 8, 1 << 8, 9 << 8})
			})
		}
	}
}

// TestPositionsNotKept checks that the newest position of a reader is no content of its segment,
// and that an older one is: the segment that has nothing else but newest ones is never closed for
// its age, and a segment with older ones is dropped when they are old.
func TestPositionsNotKept(t *testing.T) {
	t.Parallel()
	r := newDropRig(t)
	ctx := context.Background()
	r.savePosition([]uint64{1, 0})
	if _, open, err := r.d.Segments(ctx); err != nil || open.First != 0 || open.Last != 0 {
		t.Errorf("with the newest position: %+v %v", open, err)
	}
	first := r.now
	r.now = r.now.Add(time.Hour)
	r.savePosition([]uint64{2, 0})
	_, open, err := r.d.Segments(ctx)
	if err != nil || open.First == 0 || open.Last != open.First || !open.Oldest.Equal(first) || !open.Newest.Equal(first) {
		t.Errorf("with an older one: %+v %v", open, err)
	}
	r.roll()
	r.copyForward()
	if err := r.drop(); err != nil {
		t.Fatal(err)
	}
	oldest, open, err := r.d.Segments(ctx)
	if err != nil || oldest.Number != 2 || open.First != 0 {
		t.Errorf("with the copy and the floor: %+v %+v %v", oldest, open, err)
	}
	r.stands("after the drop", []uint64{2, 0})
}
