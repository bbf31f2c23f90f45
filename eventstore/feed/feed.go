package feed

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Feed reads the events of one account. All methods may be called from many goroutines.
type Feed struct {
	source source
	retry  time.Duration // between two connections
}

// source gives the events after a position, in order. It calls emit with the JSON of each, and
// passed when no event up to a position is missing. An error of emit ends it.
type source interface {
	// page emits the events up to the newest one.
	page(ctx context.Context, after uint64, emit func([]byte) error, passed func(uint64)) error
	// follow also gives further ones, until ctx ends. It calls passed first when it is connected.
	// ErrBroken means that a new connection can go on.
	follow(ctx context.Context, after uint64, emit func([]byte) error, passed func(uint64)) error
}

// ErrBroken means that the connection broke.
var ErrBroken = errors.New("feed: the connection broke")

var errStopped = errors.New("feed: stopped")

const retryAfter = time.Second

// HTTP returns the feed of the API at a URL. The key needs the scope events:read.
func HTTP(url, apiKey string) *Feed { return &Feed{overHTTP{url, apiKey}, retryAfter} }

// NATS returns the feed of the stream EVENTS of a server, with the credentials file of `payledger
// analytics-user`.
func NATS(url, credentialsFile string) *Feed {
	return &Feed{overNATS{url, credentialsFile}, retryAfter}
}

// Events returns the events after a position that there are now; 0 is the position before the first
// one. The sequence ends with the first error.
func (f *Feed) Events(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, err := f.read(ctx, after, f.source.page, yield)
		if err != nil && !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}

// Follow returns the events after a position, and waits for further ones until ctx ends. It
// connects again after a break, and goes on after the last event. The sequence ends with the first
// other error: ctx's, the refusal of the server, or that of the first connection.
func (f *Feed) Follow(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for connected := false; ; {
			var err error
			after, err = f.read(ctx, after, func(ctx context.Context, after uint64, emit func([]byte) error, passed func(uint64)) error {
				return f.source.follow(ctx, after, emit, func(position uint64) {
					connected = true
					passed(position)
				})
			}, yield)
			switch {
			case errors.Is(err, errStopped):
				return
			case ctx.Err() != nil:
				yield(Event{}, ctx.Err())
				return
			case !connected, !errors.Is(err, ErrBroken):
				yield(Event{}, err)
				return
			}
			select {
			case <-time.After(f.retry):
			case <-ctx.Done():
			}
		}
	}
}

// read yields the events that a source gives. It returns the position that it reached.
func (f *Feed) read(ctx context.Context, after uint64, from func(context.Context, uint64, func([]byte) error, func(uint64)) error, yield func(Event, error) bool) (uint64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := from(ctx, after, func(text []byte) error {
		e, err := decode(text)
		if err != nil {
			return err
		}
		if e.Position <= after {
			return nil // a source may send an event again after a break
		}
		after = e.Position
		if !yield(e, nil) {
			return errStopped
		}
		return nil
	}, func(position uint64) { after = max(after, position) })
	return after, err
}
