package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// TestSegmentsRoll: segments roll while 32 writers append and readers read: every event is there
// once, in an unbroken order, for those who follow, for those who come later, and after a restart
// with or without the tip store.
func TestSegmentsRoll(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("sole writer %t", alone), func(t *testing.T) {
			t.Parallel()
			dir, tips := t.TempDir(), t.TempDir()
			var c engine.Config
			if alone {
				c, tips = eventstoretest.Config(eventstoretest.Server(t, dir)), tipsOf(dir)
			} else {
				c = eventstoretest.Cluster(t)
			}
			c.Shards, c.SegmentBytes = 2, 8<<10
			open := func() *engine.Store {
				c.Tips = tips
				return eventstoretest.OpenOn(t, c)
			}
			stores := []*engine.Store{open()}
			if !alone {
				c.Tips = t.TempDir()
				stores = append(stores, eventstoretest.OpenOn(t, c))
			}
			written := rollSegments(t, stores)
			for shard := range 2 {
				if n := len(stores[0].Segments(shard)); n < 3 {
					t.Errorf("%d segments", n)
				}
			}
			for _, s := range stores {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			again := open()
			for key, hash := range written {
				loaded, err := again.Load(testContext(t), key, eventstore.Applied)
				if err != nil || loaded.Hash != hash {
					t.Fatalf("%+v, %v", loaded, err)
				}
			}
			readWhole(t, again, len(written))
			again.Close()
			remove(t, tips)
			again = open()
			readWhole(t, again, len(written))
			mustAdd(t, again, newKey(), added{})
			checkSegments(t, c, again)
		})
	}
}

// rollSegments lets 32 writers append in all stores while each store is followed from its
// beginning. It returns the newest hash of every aggregate.
func rollSegments(t *testing.T, stores []*engine.Store) map[eventstore.Key]eventstore.Hash {
	t.Helper()
	each := scale(5, 15)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	total := uint64(32 * each)
	followed := make(chan error, 2*len(stores))
	var left sync.WaitGroup
	for _, s := range stores {
		var mu sync.Mutex
		seen := uint64(0)
		left.Add(1)
		for shard := range 2 {
			next := uint64(1)
			go func() {
				followed <- s.Subscribe(ctx, shard, 0, func(r *eventstore.Recorded) error {
					if r.Number != next {
						return fmt.Errorf("event %d instead of %d", r.Number, next)
					}
					next++
					mu.Lock()
					defer mu.Unlock()
					if seen++; seen == total {
						left.Done()
					}
					return nil
				})
			}()
		}
	}
	var writers sync.WaitGroup
	var mu sync.Mutex
	written := map[eventstore.Key]eventstore.Hash{}
	for w := range 32 {
		s := stores[w%len(stores)]
		writers.Go(func() {
			for range each {
				key := newKey()
				tip, err := add(t, s, key, added{Who: noise(300)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				written[key] = tip.Recorded.Hash
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	if !t.Failed() {
		left.Wait() // until the followers have seen all of it
	}
	cancel()
	for range cap(followed) {
		if err := <-followed; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	return written
}

// readWhole reads the log from its beginning, from the streams.
func readWhole(t *testing.T, s *engine.Store, total int) {
	t.Helper()
	s.ForgetGroups()
	n := 0
	errEnd := errors.New("the end")
	for shard := range s.Shards() {
		last, next := s.Appended()[shard], uint64(1)
		err := s.Subscribe(testContext(t), shard, 0, func(r *eventstore.Recorded) error {
			if r.Number != next {
				return fmt.Errorf("event %d instead of %d", r.Number, next)
			}
			n++
			if next++; r.Seq == last {
				return errEnd
			}
			return nil
		})
		if !errors.Is(err, errEnd) {
			t.Error(err)
		}
	}
	if n != total || s.Events() != uint64(n) {
		t.Errorf("%d events of %d, counted %d", n, total, s.Events())
	}
}

// checkSegments expects that a shard's last segment is open, and that each begins where the one
// before ends. Those of an embedded server are not sealed: their closing group says the same.
func checkSegments(t *testing.T, c engine.Config, s *engine.Store) {
	t.Helper()
	nc, err := connectBy(c)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for shard := range s.Shards() {
		firsts := s.Segments(shard)
		for i, first := range firsts {
			eventually(t, 2*time.Minute, fmt.Sprintf("segment %d of %d of shard %d is as it should be", i+1, len(firsts), shard), func() error {
				stream, err := js.Stream(testContext(t), engine.SegmentName(shard, uint32(i+1)))
				if err != nil {
					return err
				}
				info, last := stream.CachedInfo(), i == len(firsts)-1
				switch sealed := info.Config.Sealed; {
				case sealed && last:
					return errors.New("the open segment is sealed")
				case !sealed && !last && !s.Sole():
					return errors.New("it is not sealed")
				}
				if !last && info.State.LastSeq+1 != firsts[i+1] || max(1, info.Config.FirstSeq) != first {
					return fmt.Errorf("it begins at %d and ends at %d", first, info.State.LastSeq)
				}
				return nil
			})
		}
	}
}

// TestCrashWhileRolling: a crash happens between a closing group, the creation of the next segment
// and the sealing of the closed one. The next start completes the steps, and continues.
func TestCrashWhileRolling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		create, seal, k bool
	}{
		{"after the closing group", false, false, false},
		{"after the creation", true, false, false},
		{"after the sealing", true, true, false},
		{"after the first group of the new segment", true, false, true},
	} {
		for _, alone := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, sole writer %t", c.name, alone), func(t *testing.T) {
				t.Parallel()
				l := newRawLogFor(t, !alone, 1)
				h := l.shards[0]
				keys := l.keys(0, 3)
				l.put(t, h, keys[0], keys[1], keys[1])
				l.closing(t, h)
				js, err := jetstream.New(l.nc, jetstream.WithDefaultTimeout(time.Minute))
				if err != nil {
					t.Fatal(err)
				}
				old, err := js.Stream(testContext(t), engine.SegmentName(0, 1))
				if err != nil {
					t.Fatal(err)
				}
				config := old.CachedInfo().Config
				if c.create {
					next := config
					next.Name, next.Subjects, next.FirstSeq = engine.SegmentName(0, 2), []string{"ledger.0.2"}, h.end.Seq
					eventually(t, time.Minute, "the segment is made", func() error { return second(js.CreateStream(testContext(t), next)) })
				}
				if c.seal {
					config.Sealed = true
					eventually(t, time.Minute, "the segment is sealed", func() error {
						ctx, cancel := context.WithTimeout(testContext(t), 5*time.Second) // an answer may be lost in an election
						defer cancel()
						return second(js.UpdateStream(ctx, config))
					})
				}
				if c.k {
					l.put(t, h, keys[2])
				}
				s := l.open(t, func(*engine.Config) {})
				mustAdd(t, s, keys[0], added{N: 5})
				mustAdd(t, s, newKey(), added{})
				readWhole(t, s, len(h.all)+2)
				if n := len(s.Segments(0)); n != 2 {
					t.Errorf("%d segments", n)
				}
				checkSegments(t, l.config, s)
				s.Close()
				readWhole(t, l.open(t, func(*engine.Config) {}), len(h.all)+2)
			})
		}
	}
}

// TestSegmentsThatDoNotFollow: a log that lacks a segment is not opened, and neither is a log whose
// closed segment has a group after its closing group.
func TestSegmentsThatDoNotFollow(t *testing.T) {
	t.Parallel()
	build := func(t *testing.T) (*rawLog, jetstream.JetStream) {
		l := newRawLog(t, 1)
		l.put(t, l.shards[0], l.keys(0, 1)...)
		l.closing(t, l.shards[0])
		s := l.open(t, func(*engine.Config) {})
		mustAdd(t, s, newKey(), added{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(l.nc, jetstream.WithDefaultTimeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return l, js
	}
	for name, number := range map[string]uint32{"the first segment is gone": 1, "the last segment is gone": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, js := build(t)
			if err := js.DeleteStream(testContext(t), engine.SegmentName(0, number)); err != nil {
				t.Fatal(err)
			}
			l.refuses(t)
		})
	}
	t.Run("a closed segment goes on", func(t *testing.T) {
		t.Parallel()
		l := newRawLog(t, 1)
		l.put(t, l.shards[0], l.keys(0, 1)...)
		l.closing(t, l.shards[0])
		l.shards[0].segment = 1 // as a writer that does not know
		l.put(t, l.shards[0], l.keys(0, 1)...)
		l.refuses(t)
	})
}
