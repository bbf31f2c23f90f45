package jetapi

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// CreateStream makes a stream, or finds it with the same configuration. In a cluster a request or
// its answer can be lost in an election: without an answer the request is repeated until ctx ends.
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
		if err == nil || !passing(err) || js.Conn().IsClosed() || Pause(ctx, leaderPause) != nil {
			return err
		}
	}
}
