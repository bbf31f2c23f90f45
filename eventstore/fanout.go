package eventstore

import (
	"context"
	"slices"
	"sync"
)

// Fanout reads every shard once and hands each event to all its readers: projections, notifier,
// checkpoints. Each reader has its own position and its own goroutine; a reader that fails stops alone.
type Fanout struct {
	store   *Store
	readers []*Reader
}

// Reader is one reader's end of a Fanout.
type Reader struct {
	Name   string
	After  []uint64 // per shard: the last sequence it has seen
	events chan *Recorded
	gone   chan struct{} // closed when the reader has stopped
	once   sync.Once
}

// readerBuffer is how far a reader may lag behind the others before it holds them up.
const readerBuffer = 4096

// NewFanout makes a fan-out of the store's log.
func NewFanout(store *Store) *Fanout { return &Fanout{store: store} }

// Reader registers a reader that has seen the log up to `after` (nil: nothing). Call it before Run.
func (f *Fanout) Reader(name string, after []uint64) *Reader {
	if after == nil {
		after = make([]uint64, f.store.shards)
	}
	r := &Reader{Name: name, After: slices.Clone(after), events: make(chan *Recorded, readerBuffer), gone: make(chan struct{})}
	f.readers = append(f.readers, r)
	return r
}

// Run reads until ctx ends or a shard cannot be read any more; it returns once nothing is handed out.
func (f *Fanout) Run(parent context.Context) error {
	if len(f.readers) == 0 {
		<-parent.Done()
		return nil
	}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	errs := make(chan error, f.store.shards)
	for shard := range f.store.shards {
		from := f.readers[0].After[shard]
		for _, r := range f.readers[1:] {
			from = min(from, r.After[shard])
		}
		go func() { errs <- f.store.Subscribe(ctx, shard, from, func(r *Recorded) error { return f.hand(ctx, r) }) }()
	}
	var first error
	for range f.store.shards {
		if err := <-errs; first == nil {
			first = err
			cancel()
		}
	}
	if parent.Err() != nil {
		return nil
	}
	return first
}

func (f *Fanout) hand(ctx context.Context, event *Recorded) error {
	for _, r := range f.readers {
		if event.Seq <= r.After[event.Shard] {
			continue
		}
		select {
		case r.events <- event:
		case <-r.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Next waits for events and gives those that are there, at least one and at most max, in the order of
// each shard. It ends with ctx.
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

// Stop takes the reader out: the others go on without it.
func (r *Reader) Stop() { r.once.Do(func() { close(r.gone) }) }
