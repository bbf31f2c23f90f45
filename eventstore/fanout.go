package eventstore

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Fanout delivers the events of all shards to its readers: projections, notifier, checkpoints. Each
// reader reads from its own position: a reader that is slow, or fails, delays no other reader.
type Fanout struct {
	store   Subscribing
	readers []*Reader
}

// Reader is one reader's end of a Fanout.
type Reader struct {
	Name   string
	After  []uint64 // per shard: the address of the last event that the reader has
	events chan *Recorded
	gone   chan struct{} // closed when the reader has stopped
	once   sync.Once
}

const readerBuffer = 512 // events that wait for a reader at most

// NewFanout makes a fan-out of the store's log.
func NewFanout(store Subscribing) *Fanout { return &Fanout{store: store} }

// Reader registers a reader that has seen the log up to `after` (nil: nothing). Call it before Run.
func (f *Fanout) Reader(name string, after []uint64) *Reader {
	if after == nil {
		after = make([]uint64, f.store.Shards())
	}
	r := &Reader{Name: name, After: slices.Clone(after), events: make(chan *Recorded, readerBuffer), gone: make(chan struct{})}
	f.readers = append(f.readers, r)
	return r
}

// Run reads until ctx ends or the connection to the log is closed. It returns when no event is
// being delivered. It stops reading a damaged shard; the other shards continue.
func (f *Fanout) Run(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	ended := make(chan error, f.store.Shards()*len(f.readers))
	for shard := range f.store.Shards() {
		for _, r := range f.readers {
			go func() { ended <- f.feed(ctx, shard, r) }()
		}
	}
	var first error
	for range cap(ended) {
		switch err := <-ended; {
		case err == nil || first != nil || parent.Err() != nil:
		case errors.Is(err, ErrUnhealthy):
			f.store.LogLost(err)
		default:
			first = err
			cancel()
		}
	}
	if first == nil {
		<-parent.Done()
	}
	if parent.Err() != nil {
		return nil
	}
	return first
}

var errStopped = errors.New("eventstore: the reader has stopped")

// feed hands one shard's events to one reader. A reader that has stopped is no error.
func (f *Fanout) feed(ctx context.Context, shard int, r *Reader) error {
	err := f.store.Subscribe(ctx, shard, r.After[shard], func(event *Recorded) error {
		select {
		case <-r.gone:
			return errStopped
		case r.events <- event:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err == errStopped { //nolint:errorlint // it is handed through as it is
		return nil
	}
	return err
}

// Next waits for events and returns at least one and at most max of them, in the order of each
// shard, or the error of ctx.
func (r *Reader) Next(ctx context.Context, max int) ([]*Recorded, error) {
	var batch []*Recorded
	select {
	case e := <-r.events:
		batch = append(batch, e)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for len(batch) < max {
		select {
		case e := <-r.events:
			batch = append(batch, e)
		default:
			return batch, nil
		}
	}
	return batch, nil
}

// Events returns the channel of the events; Next receives from it, too.
func (r *Reader) Events() <-chan *Recorded { return r.events }

// Stop ends the delivery to the reader.
func (r *Reader) Stop() { r.once.Do(func() { close(r.gone) }) }
