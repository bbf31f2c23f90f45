package eventstoretest

import (
	"context"
	"errors"
)

// Again repeats a write that is safe to repeat while its publish has no answer in time: the disk of a busy machine can stand still for longer.
func Again(ctx context.Context, write func() error) error {
	for {
		if err := write(); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}
