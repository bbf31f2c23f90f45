package remote_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/clustertest"
	"payledger/eventstore/engine"
	"payledger/eventstore/external"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/remote"
	"payledger/eventstore/streams"
)

// staleLeader is a way to the servers on which the end of CHECKPOINTS is an old one for some
// questions, as of a leader that has lost its cluster.
type staleLeader struct {
	mu    sync.Mutex
	seq   uint64 // the old end
	times int    // questions for the end that get it
}

func (l *staleLeader) show(seq uint64, times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq, l.times = seq, times
}

func (l *staleLeader) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times
}

// changed returns the bytes to the server with another question in place of that for the end.
func (l *staleLeader) changed(p []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, after, asks := bytes.Cut(p, []byte("STREAM.MSG.GET."+streams.Name(streams.CheckpointShard, 1)))
	begin, end := bytes.IndexByte(after, '{'), bytes.IndexByte(after, '}')
	if !asks || l.times == 0 || begin < 0 || end < begin || !bytes.Contains(after[begin:end], []byte("last_by_subj")) {
		return p
	}
	l.times--
	p = bytes.Clone(p)
	copy(p[len(p)-len(after)+begin:], fmt.Appendf(nil, `{"seq":%-*d}`, end-begin-len(`{"seq":`), l.seq))
	return p
}

// Dial opens one connection.
func (l *staleLeader) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return staleLink{conn, l}, err
}

type staleLink struct {
	net.Conn
	leader *staleLeader
}

func (l staleLink) Write(p []byte) (int, error) { return l.Conn.Write(l.leader.changed(p)) }

// TestCutStaleCheckpoints: a leader of CHECKPOINTS that has lost its cluster shows an old end. A
// cut does not end there: neither before the checkpoint of its events, nor at this checkpoint if
// groups without one came after it.
func TestCutStaleCheckpoints(t *testing.T) {
	t.Parallel()
	access := external.Access{URL: clustertest.Start(t, 3, nil).Formed(t).URL(clustertest.User)}
	s, err := engine.Open(t.Context(), engine.Config{
		External: access, Shards: 2, Replicas: 3, Now: time.Now, Random: rand.Reader, ReadTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	defer checkpoints(t, s)()
	stale := &staleLeader{}
	log, err := remote.Over(t.Context(), func() (*nats.Conn, error) {
		return access.Connect(append(jetapi.External(), nats.SetCustomDialer(stale))...)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	const times = 6 // two for each look of a cut
	var old uint64
	for _, more := range []bool{true, false, true} { // events since the cut before
		if more {
			if _, err := add(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Checkpoints().Cover(t.Context(), s.Events); err != nil {
			t.Fatal(err)
		}
		if old > 0 {
			stale.show(old, times)
		}
		c, err := log.Cut(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end := c.Heads[streams.CheckpointShard]
		mark, err := s.Checkpoints().At(t.Context(), end.Events)
		if err != nil {
			t.Fatal(err)
		}
		if end.Seq <= old || stale.left() > 0 || mark.Size != s.Events() {
			t.Errorf("the checkpoints end at %d, at least %d before that; %d of %d events are covered; %d old ends were not shown",
				end.Seq, old, mark.Size, s.Events(), stale.left())
		}
		old = end.Seq
	}
}
