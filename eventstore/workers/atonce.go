package workers

import (
	"context"
	"sync"
	"time"
)

// Each calls do with the numbers below n, up to atOnce at the same time, and returns the errors by
// number.
func Each(n, atOnce int, do func(i int) error) []error {
	errs, places := make([]error, n), make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		running.Go(func() {
			errs[i] = do(i)
			<-places
		})
	}
	running.Wait()
	return errs
}

// Pool calls work with the values of produce, up to atOnce at the same time. At the first error it
// stops them and returns it.
func Pool[T any](ctx context.Context, atOnce int, produce func(ctx context.Context, submit func(T) error) error, work func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan T)
	var running sync.WaitGroup
	for range atOnce {
		running.Go(func() {
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
	running.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// Repeat calls do at intervals until end is called. end waits for a call under way.
func Repeat(interval time.Duration, do func()) (end func()) {
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do()
			case <-ended:
				return
			}
		}
	})
	return func() { close(ended); running.Wait() }
}
