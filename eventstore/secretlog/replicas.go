package secretlog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
)

// ErrReplicas means that a server that holds the stream is down, or lacks messages.
var ErrReplicas = errors.New("a NATS server that holds the secrets is down, or lacks messages")

const (
	// replicasWait is how long Replicated waits until each server has all messages.
	replicasWait  = 15 * time.Second
	replicasPause = 250 * time.Millisecond
)

// Replicated returns nil if each server that holds the newest segment runs, and has all messages.
// Else it waits for a while, and returns ErrReplicas. A server that lacks messages keeps the
// earlier ones in the log of its Raft group.
func (b *Stream) Replicated(ctx context.Context) error {
	if err := b.Fence(ctx); err != nil { // without a new message the leader takes a server for current for seconds after a cut
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, replicasWait)
	defer cancel()
	name, whole := b.segments.all().Open().Name(), map[string]bool{}
	for {
		stream, err := b.API.JS.Stream(ctx, name)
		if err == nil {
			err = replicated(stream.CachedInfo(), whole)
		}
		if err == nil || due.Rest(ctx, replicasPause, nil) != nil {
			return err
		}
	}
}

// Fence reads the stream up to a message that it adds. So this process has read all messages that
// are durable, which an answer of a leader that is cut off from its cluster does not show. Fence
// does nothing on an embedded server, on a full disk, and in a process that only reads.
func (b *Stream) Fence(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	for b.API.Replicas > 1 && !b.ReadOnly && b.Room() == nil {
		_, err := b.put(ctx, destroyedTopic, newDestruction("", "", nil))
		if err == nil || errors.Is(err, fault.ErrUnhealthy) || due.Rest(ctx, createPause, nil) != nil {
			return err
		}
	}
	return nil
}

// replicated returns ErrReplicas unless each server ran and had all messages, now or at an earlier
// look, as the leader sees them. Under load a server may lack the newest message at any look. whole
// has the servers of earlier looks.
func replicated(info *jetstream.StreamInfo, whole map[string]bool) error {
	if info.Cluster == nil || info.Config.Replicas <= 1 {
		return nil
	}
	var late []string
	for _, r := range info.Cluster.Replicas {
		if !r.Offline && r.Current && r.Lag == 0 {
			whole[r.Name] = true
		}
		if !whole[r.Name] {
			late = append(late, r.Name)
		}
	}
	name := info.Config.Name
	if len(late) > 0 {
		return fmt.Errorf("%w: %s: start it, wait until `nats stream info %s` shows every replica as current, and run the command again", ErrReplicas, strings.Join(late, ", "), name)
	}
	if has := len(info.Cluster.Replicas) + 1; has < info.Config.Replicas {
		return fmt.Errorf("%w: %d servers hold stream %s, and %d must: wait until `nats stream info %s` shows them, and run the command again", ErrReplicas, has, name, info.Config.Replicas, name)
	}
	return nil
}
