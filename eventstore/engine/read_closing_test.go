package engine_test

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"payledger/eventstore"
	"payledger/eventstore/eventstoretest"
)

// TestReadEndsWithStore: the store closes while a read waits for an answer that never comes. The
// read ends then, and not after its own time limit, which is a minute here.
func TestReadEndsWithStore(t *testing.T) {
	t.Parallel()
	f := farCluster(t)
	other := eventstoretest.OpenOn(t, f.direct)
	f.through.ReadOnly = true
	s := eventstoretest.OpenOn(t, f.through)
	lost := make(chan struct{})
	var ended atomic.Bool
	f.proxy.Answers(func(piece []byte) bool { // only the leader's answer with the end of the log arrives, and not the pages up to there
		if bytes.Contains(piece, []byte("Nats-Num-Pending")) && !ended.Swap(true) {
			close(lost)
		}
		return !ended.Load() && bytes.Contains(piece, []byte("stream_msg_get_response"))
	})
	key := newKey()
	for range 3 {
		mustAdd(t, other, key, added{Who: "another node"})
	}
	failed := make(chan error, 1)
	go func() {
		_, err := s.Load(testContext(t), key, eventstore.Latest)
		failed <- err
	}()
	<-lost
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, eventstore.ErrUnhealthy) || !strings.Contains(err.Error(), "the store was closed") {
		t.Errorf("the read ended with: %v", err)
	}
}
