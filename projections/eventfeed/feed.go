package eventfeed

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore/due"
	"payledger/eventstore/eventstream"
	"payledger/eventstore/ordered"
	"payledger/projections/eventjson"
)

// Config has the parts of a feed.
type Config struct {
	Store     ordered.Store
	Server    *eventstream.Server
	Retention time.Duration // age at which events leave the stream; 0: never
	Now       func() time.Time
	Logger    zerolog.Logger
	Pause     func(ctx context.Context, failures int) error // before another attempt; nil: a time that grows with each failure
	Rest      func(context.Context, time.Duration) error    // between two looks at the stream; nil: a wait of this time
}

// Feed writes the events of a log into a stream.
type Feed struct {
	Config
	log      *ordered.Log
	position atomic.Uint64
	fault    atomic.Pointer[string] // why the stream has not all events; nil: it has
	faults   atomic.Uint64
	counted  bool // the fault that the next session meets is counted
	checked  chan struct{}
	first    func() // closes checked

	run    func(context.Context) error                                                            // session
	ranges func(ctx context.Context, stream *eventstream.Stream, from, to uint64) (string, error) // compareRange, for the watch
	size   func(context.Context) (uint64, error)                                                  // of the log
}

// New returns the feed of a store.
func New(c Config) *Feed {
	if c.Pause == nil {
		c.Pause = pause
	}
	if c.Rest == nil {
		c.Rest = func(ctx context.Context, d time.Duration) error { return due.Rest(ctx, d, nil) }
	}
	checked := make(chan struct{})
	f := &Feed{Config: c, log: ordered.New(c.Store), checked: checked, first: sync.OnceFunc(func() { close(checked) })}
	f.run, f.ranges, f.size = f.session, f.compareRange, f.log.Size
	return f
}

// Checked returns a channel that is closed when the first attempt has checked or made the stream,
// or has failed. Run must have started.
func (f *Feed) Checked() <-chan struct{} { return f.checked }

// Position returns the position of the newest event that this feed knows to be in the stream.
func (f *Feed) Position() uint64 { return f.position.Load() }

// Fault returns the reason why the stream is damaged or takes no events, until it has all events
// again; "" if there is none.
func (f *Feed) Fault() string {
	if reason := f.fault.Load(); reason != nil {
		return *reason
	}
	return ""
}

// Failing reports whether there is a Fault.
func (f *Feed) Failing() bool { return f.Fault() != "" }

// Faults returns how many times the stream was damaged or differed from the log. It was written
// again then.
func (f *Feed) Faults() uint64 { return f.faults.Load() }

var errFull = errors.New("the disk is full")

// Run writes until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	defer f.first()
	for failed := 0; ctx.Err() == nil; {
		before := f.position.Load()
		err := f.run(ctx)
		f.first()
		damaged := errors.Is(err, errDamaged) || f.Server.Damage() != "" // found while the session ended for another reason
		if errors.Is(err, eventstream.ErrConflict) && !damaged || ctx.Err() != nil {
			continue
		}
		if f.position.Load() != before {
			failed = 0
		}
		failed++
		f.report(err.Error())
		f.Logger.Error().Err(err).Uint64("position", f.position.Load()).Msg("the stream EVENTS for analysts gets no events; the service tries again")
		if f.counted = damaged; damaged {
			f.faults.Add(1)
		}
		if !damaged || failed > 1 { // readers of a damaged stream wait
			if err := f.Pause(ctx, failed); err != nil {
				break
			}
		}
		if damaged || errors.Is(err, eventstream.ErrFailed) {
			if err := f.Server.Restart(); err != nil {
				f.Logger.Error().Err(err).Msg("the NATS server for analysts does not start")
			}
		}
	}
	return nil
}

const maxPause = 30 * time.Second

func pause(ctx context.Context, failures int) error {
	return due.Rest(ctx, min(time.Second<<min(failures-1, 10), maxPause), nil)
}

// session checks the stream, lets readers in, and writes until an attempt fails or the watch finds
// damage.
func (f *Feed) session(ctx context.Context) error {
	stream, err := f.Server.Connect()
	if err != nil {
		return err
	}
	defer stream.Close()
	after, err := f.check(ctx, stream)
	if err != nil {
		return err
	}
	f.first()
	f.Server.Admit()
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	watching.Go(func() { end(f.watch(ctx)) })
	err = f.write(ctx, stream, after)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return err
}

// write publishes the events after a position until ctx ends or an attempt fails.
func (f *Feed) write(ctx context.Context, stream *eventstream.Stream, after uint64) error {
	for {
		f.position.Store(after)
		if f.Store.Full() != nil {
			return errFull
		}
		through, err := f.log.Read(ctx, after, func(e ordered.Event) error {
			m, err := f.message(ctx, e)
			if err != nil {
				return err
			}
			return stream.Publish(ctx, m)
		})
		if err == nil {
			err = stream.Flush(ctx)
		}
		if err != nil {
			return err
		}
		after = through
		f.position.Store(after)
		if f.Server.Damage() == "" {
			f.fault.Store(nil)
		}
		if err := f.log.Await(ctx, after); err != nil {
			return err
		}
	}
}

func (f *Feed) report(fault string) { f.fault.Store(&fault) }

func (f *Feed) message(ctx context.Context, e ordered.Event) (eventstream.Message, error) {
	rendered, err := eventjson.Render(ctx, f.Store, e)
	if err != nil {
		return eventstream.Message{}, err
	}
	body, err := rendered.Append(nil, false)
	if err != nil {
		return eventstream.Message{}, err
	}
	return eventstream.Message{
		Position: e.Position, Account: string(e.Account), Type: e.Type, ID: e.EventID,
		Subject: string(e.Account) + "." + e.Aggregate + "." + rendered.AggregateID, Time: e.Time.UTC().Format(time.RFC3339Nano),
		Revision: e.Revision, Hash: rendered.Hash, Body: body,
	}, nil
}
