package engine_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// TestReadEndsWithStore: the store closes while a read waits for an answer that never comes. The
// read ends then, and not after its own time limit, which is a minute here.
func TestReadEndsWithStore(t *testing.T) {
	t.Parallel()
	server, s, p, _ := remoteOn(t, func(*engine.Config) {})
	c := eventstoretest.Config(nil)
	c.External.URL, c.Shards, c.Replicas = listens(server).url(listens(server).Clients), 1, 1
	other := eventstoretest.OpenOn(t, c)
	lost := make(chan struct{})
	var once sync.Once
	p.Answers(func(piece []byte) bool { // only the leader's answer with the end of the log arrives, and not the pages up to there
		if bytes.Contains(piece, []byte("stream_msg_get_response")) {
			return true
		}
		if bytes.Contains(piece, []byte("Nats-Num-Pending")) {
			once.Do(func() { close(lost) })
		}
		return false
	})
	key := newKey()
	for range 3 {
		mustAdd(t, other, key, added{Who: "another node"})
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Load(testContext(t), key, eventstore.Latest)
		ended <- err
	}()
	<-lost
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "the store was closed") {
		t.Errorf("the read ended with: %v", err)
	}
}
