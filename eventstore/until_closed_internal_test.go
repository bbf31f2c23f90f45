package eventstore

import (
	"context"
	"errors"
	"testing"
)

// TestReadEndsWithStore: a read whose answer never comes ends when the store closes, with an error that says so. The end of the caller's
// own context stays the caller's.
func TestReadEndsWithStore(t *testing.T) {
	t.Parallel()
	silent := func(began chan<- struct{}) func(context.Context) error {
		return func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}
	}
	s := &Store{}
	s.life, s.stop = context.WithCancel(context.Background())
	h := newShard(s, 0)
	for _, c := range []struct {
		name string
		end  func(caller context.CancelFunc)
		want error
	}{
		{"the caller leaves", func(caller context.CancelFunc) { caller() }, context.Canceled},
		{"the store closes", func(context.CancelFunc) { s.stop() }, ErrUnhealthy},
	} {
		ctx, leave := context.WithCancel(context.Background())
		began, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- h.untilClosed(ctx, silent(began)) }()
		<-began
		c.end(leave)
		if err := <-ended; !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		leave()
	}
}
