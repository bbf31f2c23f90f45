package eventfeed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/eventstream"
	"payledger/eventstore/ordered"
)

// The pace of the watch: the time between two looks, the time before a second look at a suspicious
// block, the number of messages that each look compares with the log, and the time between two
// passes over all messages.
const (
	watchEvery = time.Second
	lookAgain  = 100 * time.Millisecond
	slice      = 200
	betweenAll = 10 * time.Minute
)

// errDamaged means that the stream was whole, and is not any more.
var errDamaged = errors.New("the stream is damaged")

// watch returns when the stream is found damaged, or when ctx ends. The NATS server reports what it
// meets for a reader. The watch looks at the stream's state and its uncompressed blocks each
// second, and compares the messages with the log, slowly, again and again.
func (f *Feed) watch(ctx context.Context) error {
	stream, err := f.Server.Connect()
	if err != nil {
		return err
	}
	defer stream.Close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	found := make(chan error, 1)
	go func() {
		defer end()
		select {
		case <-f.Server.Damaged():
			found <- fmt.Errorf("%w: %s", errDamaged, f.Server.Damage())
		case <-ctx.Done():
			found <- nil
		}
	}()
	err = f.look(ctx, stream)
	end()
	if met := <-found; met != nil {
		return met
	}
	return err
}

// look looks at the stream again and again until it finds a fault, which it returns.
func (f *Feed) look(ctx context.Context, stream *eventstream.Stream) error {
	plain, rest := f.Server.Uncompressed(), watchEvery
	after, pass := uint64(0), time.Time{} // of the newest message that was compared; the next pass begins at this time
	for {
		if err := f.Rest(ctx, rest); err != nil {
			return err
		}
		rest = watchEvery
		state, err := stream.State(ctx)
		switch {
		case err != nil:
			return err
		case !state.Whole:
			return f.damaged("messages are missing or damaged")
		}
		found, err := plain.Check(ctx, state)
		switch {
		case err != nil:
			return err
		case found.Sure:
			return f.damaged(found.Fault)
		case found.Fault != "": // the server must not read the block for a comparison
			rest = lookAgain
			continue
		case f.Now().Before(pass):
			continue
		}
		through := min(state.Last, f.Position())
		from := max(after+1, state.First)
		to := min(from+slice-1, through)
		fault, err := f.ranges(ctx, stream, from, to)
		if err == nil && fault != "" { // the server answers so too while it cannot open a file: look again
			if err = f.Rest(ctx, watchEvery); err == nil {
				fault, err = f.ranges(ctx, stream, from, to)
			}
		}
		switch {
		case err != nil:
			return err
		case fault != "":
			noted := f.Server.Note(fault) // first: the next start must know it if the process is killed from here on
			return errors.Join(f.damaged(fault), noted)
		}
		if after = to; to >= through {
			after, pass = 0, f.Now().Add(betweenAll)
		}
	}
}

// damaged ends the connections of readers, and returns the fault as an error.
func (f *Feed) damaged(fault string) error {
	f.Server.Suspect(fault)
	return fmt.Errorf("%w: %s", errDamaged, fault)
}

// compareRange returns the first difference between the messages of a range and the log, or "".
func (f *Feed) compareRange(ctx context.Context, stream *eventstream.Stream, from, to uint64) (fault string, err error) {
	if from > to {
		return "", nil
	}
	err = f.read(ctx, from-1, func(e ordered.Event) error {
		if e.Position > to {
			return errEnough
		}
		var err error
		if fault, err = f.compareOne(ctx, stream, e); err == nil && fault != "" {
			err = errEnough
		}
		return err
	})
	return fault, err
}
