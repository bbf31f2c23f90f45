package engine_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// gate is a log whose writer waits at lines with a text until it is opened.
type gate struct {
	at   string
	met  chan struct{} // closed at the first of these lines
	open chan struct{}
	once sync.Once

	mu    sync.Mutex
	lines []string
}

func newGate(at string) *gate {
	return &gate{at: at, met: make(chan struct{}), open: make(chan struct{})}
}

func (g *gate) Write(line []byte) (int, error) {
	g.mu.Lock()
	g.lines = append(g.lines, string(line))
	g.mu.Unlock()
	if bytes.Contains(line, []byte(g.at)) {
		g.once.Do(func() { close(g.met) })
		<-g.open
	}
	return len(line), nil
}

func (g *gate) count(text string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, line := range g.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// early makes the stopped log of an early build: its tip store has no times.
func early(t *testing.T) (dir string, events []*eventstore.Recorded) {
	t.Helper()
	dir = t.TempDir()
	stopped(t, dir, func(s *engine.Store) {
		for n := range 40 {
			events = append(events, mustAdd(t, s, keyIn(s, n%2), added{N: 1}).Recorded)
		}
	})
	dropTimes(t, dir)
	return dir, events
}

const (
	timesAreRead = "the times of events are read"
	noLine       = "\x00" // in no line
)

// TestTimesBesideTheService: a start does not wait until the times that the tip store of an early
// build lacks are read. Until then a request for a window says so, and events are appended.
func TestTimesBesideTheService(t *testing.T) {
	t.Parallel()
	dir, events := early(t)
	log := newGate(timesAreRead)
	c := eventstoretest.Config(eventstoretest.Server(t, dir))
	c.Logger = zerolog.New(log)
	s, err := engine.Open(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	<-log.met
	for n := range 10 {
		events = append(events, mustAdd(t, s, keyIn(s, n%2), added{N: 1}).Recorded)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := s.Near(ctx, 0, 1, eventstore.Window{}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not ready yet after an update") {
		t.Errorf("before the times are read: %v", err)
	}
	close(log.open)
	for _, r := range events {
		nearIts(t, s, r)
	}
	for n := range 4 {
		nearIts(t, s, mustAdd(t, s, keyIn(s, n%2), added{N: 1}).Recorded)
	}
}

// TestTimesInParts: a stop while times are read loses none of those that were read: the next start
// reads the missing ones only, and the one after that none.
func TestTimesInParts(t *testing.T) {
	t.Parallel()
	dir, events := early(t)
	server := eventstoretest.Server(t, dir)
	c := eventstoretest.Config(server)
	for _, want := range []int{2, 1, 0} { // shards that are read
		second := `"shard":1,"from":`
		if want < 2 {
			second = noLine
		}
		log := newGate(second)
		c.Logger = zerolog.New(log)
		s, err := engine.Open(testContext(t), c)
		if err != nil {
			t.Fatal(err)
		}
		if want == 2 {
			<-log.met // the times of the first shard are read
			s.Stop()
			close(log.open)
		} else {
			for _, r := range events {
				nearIts(t, s, r)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n := log.count(timesAreRead); n != want {
			t.Errorf("the times of %d shards were read, want %d: %v", n, want, log.lines)
		}
	}
}

// TestTimesForReading: a store for reading reads missing times when a caller needs them, not
// before: most commands need none.
func TestTimesForReading(t *testing.T) {
	t.Parallel()
	dir, events := early(t)
	log := newGate(noLine)
	c := eventstoretest.Config(eventstoretest.Server(t, dir))
	c.ReadOnly, c.Logger = true, zerolog.New(log)
	s, err := engine.Open(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Read(testContext(t), events[3].Shard, events[3].Seq); err != nil || log.count(timesAreRead) != 0 || !s.Filling(0) || !s.Filling(1) {
		t.Errorf("%d shards were read without need, %v", log.count(timesAreRead), err)
	}
	for _, r := range events {
		nearIts(t, s, r)
	}
	if n := log.count(timesAreRead); n != 2 {
		t.Errorf("%d shards were read", n)
	}
}
