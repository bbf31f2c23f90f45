package due

import (
	"context"
	"time"
)

// Rest waits for d, a signal of wake (nil: there is none) or the end of ctx, which is an error.
func Rest(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wake:
	case <-time.After(d):
	}
	return nil
}

// Signal leaves a signal in a channel that holds one, such as that of Rest.
func Signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
