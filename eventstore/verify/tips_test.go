package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/seedtest"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
	"payledger/eventstore/verify"
)

// TestTipList: each tip is met once in the order of the log, however small the batches are, and
// however few tips are read ahead. A scratch store that takes no writes ends the check, with the
// remedy.
func TestTipList(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	const payments = 30
	l := made(t, payments, nil)
	a, err := archive.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	const tips = payments * eventstoretest.LifeAggregates
	for i, batch := range []int{1, 100, 1 << 20} {
		for j, ahead := range []int{1, 6, tips, 3 * tips, 3*tips + 3} {
			if seedtest.Sampled() && (i+j)%2 > 0 {
				continue
			}
			stored, matched, err := verify.MatchedTips(context.Background(), a, t.TempDir(), batch, ahead)
			if err != nil || stored != tips || matched != stored {
				t.Errorf("batches of %d bytes, %d ahead: %d of %d tips, %v", batch, ahead, matched, stored, err)
			}
		}
	}
	if err := verify.ListTipsWithoutStore(context.Background(), a, t.TempDir()); !errors.Is(err, tipstore.ErrClosed) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("without the scratch store: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestTemporaryFolderGoes: an error and an interrupt leave no temporary file behind.
func TestTemporaryFolderGoes(t *testing.T) {
	t.Parallel()
	l := made(t, 12, nil)
	a, err := archive.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(context.Background())
	broken := errors.New("broken")
	for _, c := range []struct {
		event func() error
		want  error
	}{
		{func() error { return broken }, broken},
		{func() error { interrupt(); return nil }, context.Canceled},
	} {
		config := verify.Config{
			Archive: a, Verifier: l.verifier, Temp: t.TempDir(), Memory: 1,
			Report: func(f verify.Fault) error { return errors.New(f.String()) },
			Event:  func(context.Context, *eventstore.Recorded) error { return c.event() },
		}
		if _, err := verify.Run(ctx, config); !errors.Is(err, c.want) {
			t.Errorf("the check ended with %v, not %v", err, c.want)
		}
		if left, err := os.ReadDir(config.Temp); err != nil || len(left) > 0 {
			t.Errorf("after %v: %v %v", c.want, left, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// history returns the events of a payment.
func (l *log) history(t *testing.T, id domain.PaymentID) (all []*eventstore.Recorded) {
	t.Helper()
	a, err := archive.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(string, uint64, string) error { return errors.New("damage") }
	err = a.Groups(context.Background(), domain.Shard(string(id), a.Shards), damaged, func(_ string, g *format.Group) error {
		for _, r := range g.Frames {
			if r.ID == string(id) {
				all = append(all, r)
			}
		}
		return nil
	})
	if err := errors.Join(err, a.Close()); err != nil || len(all) < 2 {
		t.Fatal(len(all), err)
	}
	return all
}

// TestWrongTips: a tip that is missing, older, changed or of no aggregate of the log is named, with
// much memory and with little.
func TestWrongTips(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	l := made(t, 12, nil)
	events := l.history(t, l.payments[3])
	newest, older := events[len(events)-1], events[len(events)-2]
	key, right := tiprow.Key(newest.Key), tiprow.Append(nil, newest)
	changed := tiprow.Append(nil, newest)
	changed[len(changed)-1] ^= 1
	renumbered, moved := *newest, *newest
	renumbered.Number++
	moved.PrevSeq--
	foreign := newest.Key
	foreign.ID = "another"
	for name, c := range map[string]struct {
		key, value []byte
		want       string
	}{
		"missing": {key, nil, "revision 4: the tip store does not have the aggregate"},
		"older":   {key, tiprow.Append(nil, older), "revision 4: the tip store has revision 3 in group "},
		"changed": {key, changed, "revision 4: the tip store has other bytes of the event"},
		"number":  {key, tiprow.Append(nil, &renumbered), "revision 4: the tip store has other bytes of the event"},
		"before":  {key, tiprow.Append(nil, &moved), "revision 4: the tip store has other bytes of the event"},
		"foreign": {tiprow.Key(foreign), right, "the tip store has 1 aggregates that the log does not have"},
	} {
		l.setTip(t, c.key, c.value)
		for _, memory := range []int{0, 1} {
			faults, _ := l.stopped(t, func(config *verify.Config) { config.Memory = memory })
			found := false
			for _, f := range faults {
				found = found || strings.Contains(f.String(), c.want)
			}
			if !found {
				t.Errorf("%s, memory %d: %v", name, memory, faults)
			}
		}
		l.setTip(t, c.key, nil)
		l.setTip(t, key, right)
	}
	if faults, _ := l.stopped(t, nil); len(faults) > 0 {
		t.Errorf("after the repair: %v", faults)
	}
}

// TestWrongTimes: a stretch whose times do not hold those of its events hides them from windows of
// time, and is named with its shard. So are a row that cannot be parsed, and times that do not end
// with the events, with which a start makes the tip store again.
func TestWrongTimes(t *testing.T) {
	t.Parallel()
	l := made(t, 12, nil)
	r := l.history(t, l.payments[3])[1]
	a, err := archive.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := a.Times(r.Shard)
	if err := errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	number := int((format.GroupOf(r.Seq) - 1) / all[0].Groups)
	right, empty, late := all[number], all[number], all[number]
	key, last := tiprow.TimesKey(r.Shard, number), tiprow.TimesKey(r.Shard, len(all)-1)
	empty.Least, empty.Greatest = empty.Greatest, empty.Least-1
	late.Least = late.Greatest + 1
	cut := all[len(all)-1]
	cut.Through--
	named := fmt.Sprintf("of shard %d: windows of time leave it out", r.Shard)
	for name, c := range map[string]struct {
		key, value, right []byte
		want              string
	}{
		"without a time":  {key, empty.Append(nil), right.Append(nil), named},
		"narrower":        {key, late.Append(nil), right.Append(nil), named},
		"short":           {key, []byte("short"), right.Append(nil), fmt.Sprintf("the times of shard %d: ", r.Shard)},
		"missing":         {tiprow.TimesKey(r.Shard, 0), nil, all[0].Append(nil), fmt.Sprintf("the times of shard %d: ", r.Shard)},
		"none at the end": {last, nil, all[len(all)-1].Append(nil), fmt.Sprintf("the times of shard %d end at group ", r.Shard)},
		"cut at the end":  {last, cut.Append(nil), all[len(all)-1].Append(nil), fmt.Sprintf("the times of shard %d end at group ", r.Shard)},
	} {
		l.setTip(t, c.key, c.value)
		faults, _ := l.stopped(t, nil)
		if len(faults) != 1 || !strings.Contains(faults[0].String(), c.want) {
			t.Errorf("%s: %v", name, faults)
		}
		l.setTip(t, c.key, c.right)
	}
	if faults, _ := l.stopped(t, nil); len(faults) > 0 {
		t.Errorf("after the repair: %v", faults)
	}
}

// TestWithoutShards: without the streams of the log, and with the tip store, verify names the
// streams.
func TestWithoutShards(t *testing.T) {
	t.Parallel()
	l := made(t, 2, nil)
	streams, err := filepath.Glob(filepath.Join(l.dir, "jetstream", "*", "streams", "LEDGER_*"))
	if err != nil || len(streams) == 0 {
		t.Fatal(streams, err)
	}
	for _, stream := range streams {
		if err := os.RemoveAll(stream); err != nil {
			t.Fatal(err)
		}
	}
	if faults, _ := l.stopped(t, nil); len(faults) == 0 || !strings.Contains(faults[0].String(), "the stream is gone") {
		t.Errorf("verify found %v", faults)
	}
}

// setTip sets or, with nil, removes a row of the tip store.
func (l *log) setTip(t *testing.T, key, value []byte) {
	t.Helper()
	s, err := tipfiles.Open(tipstore.Options{Dir: filepath.Join(l.dir, "tips"), Cache: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	batch := s.NewBatch()
	if err = batch.Delete(key); value != nil {
		err = errors.Join(err, batch.Set(key, value))
	}
	if err := errors.Join(err, batch.Commit(), s.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
}
