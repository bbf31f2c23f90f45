package servicetest

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
)

// TestViewsWatch: the service is ready as long as the views have caught up within the last seconds,
// and a probe does not wait.
func TestViewsWatch(t *testing.T) {
	t.Parallel()
	looks := make(chan error)
	v := &app.ViewsWatch{KeepUp: func(ctx context.Context) (time.Duration, error) {
		select {
		case err := <-looks:
			return 0, err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}, Progress: func() (done, of uint64) { return 7, 9 }}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { v.Run(ctx) })
	if v.Behind() == nil {
		t.Error("ready before the first look")
	}
	looks <- io.ErrUnexpectedEOF
	apptest.Eventually(t, func() bool { // later looks find the same, for as long as it takes
		select {
		case looks <- nil:
		default:
		}
		return v.Behind() == nil
	})
	cancel()
	running.Wait() // no look is under way
	v.Shown.Store(time.Now().Add(-app.ReadyWithin - 2*app.WatchEvery).UnixNano())
	if err := v.Behind(); err == nil || !strings.Contains(err.Error(), "7 of 9 events") {
		t.Errorf("ready although the views are behind: %v", err)
	}
}
