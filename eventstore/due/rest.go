package due

import (
	"context"
	"time"
)

// Rest waits for d, a signal of wake (nil: there is none) or the end of ctx, which is an error.
func Rest(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wake:
	case <-t.C:
	}
	return nil
}
