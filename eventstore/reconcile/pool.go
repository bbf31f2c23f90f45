package reconcile

import (
	"context"
	"sync"
)

// pool runs work on the values of produce in several goroutines. At the first error it stops them and returns it.
func pool[T any](ctx context.Context, produce func(ctx context.Context, submit func(T) error) error, work func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan T)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for job := range jobs {
				if ctx.Err() != nil {
					continue // drained
				}
				if err := work(ctx, job); err != nil {
					cancel(err)
				}
			}
		})
	}
	err := produce(ctx, func(job T) error {
		select {
		case jobs <- job:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(jobs)
	workers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
