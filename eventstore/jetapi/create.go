package jetapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/due"
)

// CreateStream makes a stream, or finds it with the same configuration. In a cluster a request or
// its answer can be lost in an election, and a server may have just started: the request is
// repeated until ctx ends.
func CreateStream(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig) error {
	return createWithin(ctx, js, config, ReadTimeout)
}

// createWithin is CreateStream with the time after which a request is repeated.
func createWithin(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig, each time.Duration) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startLimit)
		defer cancel()
	}
	for {
		once, cancel := context.WithTimeout(ctx, each)
		_, err := js.CreateStream(once, config)
		cancel()
		if err == nil || !passing(err) && !serverAway(err) || js.Conn().IsClosed() || due.Rest(ctx, leaderPause, nil) != nil {
			return err
		}
	}
}

// DeleteStream deletes a stream, if there is one.
func DeleteStream(ctx context.Context, js jetstream.JetStream, name string) error {
	if err := js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("eventstore: delete %s: %w", name, err)
	}
	return nil
}

// codeNoPeers is JetStream's error if no servers fit a stream's replicas and placement.
const codeNoPeers jetstream.ErrorCode = 10005

// serverAway reports whether a stream has no place because a server of the cluster is away, which
// is also so for a moment after its start.
func serverAway(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.ErrorCode == codeNoPeers && strings.Contains(refused.Description, "offline")
}
