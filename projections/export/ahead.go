package export

import "context"

// readAhead and readBatches bound the events that are read before they are needed: so many batches
// of so many events.
const (
	readAhead   = 250
	readBatches = 4
)

type read struct {
	Event
	newest uint64
}

// read calls handle with each event after a position, up to the newest one now. The source reads on
// another goroutine meanwhile, a few batches ahead. If the source fails, handle first gets the
// events before the failure.
func (c Config) read(ctx context.Context, after uint64, s *Summary, handle func(Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, ended := make(chan []read, readBatches), make(chan error, 1)
	go func() {
		defer close(batches)
		ended <- c.ahead(ctx, after, batches)
	}()
	var failed error
	for batch := range batches {
		for i := range batch {
			if failed != nil {
				break // the source stops soon
			}
			s.read, s.hash = batch[i].Position, batch[i].Hash
			c.Progress(batch[i].Position, batch[i].newest)
			if failed = handle(batch[i].Event); failed != nil {
				cancel()
			}
		}
	}
	if err := <-ended; failed == nil {
		failed = err
	}
	return failed
}

func (c Config) ahead(ctx context.Context, after uint64, batches chan<- []read) error {
	var batch []read
	send := func() error {
		select {
		case batches <- batch:
			batch = make([]read, 0, readAhead)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := c.Source.Events(ctx, after, func(e Event, newest uint64) error {
		if batch = append(batch, read{e, newest}); len(batch) < readAhead {
			return nil
		}
		return send()
	})
	if len(batch) > 0 && (err == nil || ctx.Err() == nil) { // else send has failed with this batch
		if unsent := send(); err == nil {
			err = unsent
		}
	}
	return err
}
