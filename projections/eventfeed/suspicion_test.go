package eventfeed_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore/eventstream"
	"payledger/eventstore/ordered"
	"payledger/projections/eventfeed"
)

// beforeRestart is a log whose writer calls a function when the feed has found damage, before it
// restarts the server.
type beforeRestart func()

func (b beforeRestart) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("the stream is damaged")) {
		b()
	}
	return len(line), nil
}

// TestKilledBeforeTheRestart: the watch finds a message that is not the log's, and the process is
// killed before it has written the stream again. The next start writes the stream, although the
// messages that a start compares are right.
func TestKilledBeforeTheRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	size := r.payments(t, 20)
	dir, left, changed := t.TempDir(), t.TempDir(), false
	server := analysts(t, dir)
	stream, err := server.Connect()
	if err == nil {
		err = stream.Create(t.Context(), 1, 0)
	}
	if err == nil {
		_, err = r.log.Read(t.Context(), 0, func(e ordered.Event) error {
			m, err := r.message(t, e)
			if !changed && e.Position >= size/3 && bytes.Contains(m.Body, []byte("payment.")) { // not every event is of a payment
				m.Body, changed = bytes.Replace(m.Body, []byte("payment."), []byte("Payment."), 1), true
			}
			if err != nil {
				return err
			}
			return stream.Publish(t.Context(), m)
		})
	}
	if err == nil {
		err = stream.Flush(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	stream.Close()
	killed := false
	f, end := r.feed(t, server, func(c *eventfeed.Config) {
		c.Rest = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		c.Logger = zerolog.New(beforeRestart(func() {
			if err := copyFolder(left, dir); err != nil {
				t.Error(err)
			}
			killed = true
		}))
	})
	await(t, "the watch finds nothing", func() bool { return f.Faults() > 0 && f.Fault() == "" })
	end()
	if !killed {
		t.Fatal("the feed has not reported the damage")
	}
	server.Close()

	blind := func(c *eventfeed.Config) { // the watch of this process finds nothing
		c.Rest = func(ctx context.Context, _ time.Duration) error {
			<-ctx.Done()
			return ctx.Err()
		}
	}
	for range 2 { // the second start has nothing to write again
		server = analysts(t, left)
		f, end = r.feed(t, server, blind)
		<-f.Checked()
		fed(t, f, size)
		end()
		r.equal(t, server, 1)
		server.Close()
	}
	if f.Faults() != 0 {
		t.Error("the stream is written again at each start")
	}
}

// TestDamageBesideAnotherEnd: damage is suspected, and the session ends because another process
// wrote first. The server restarts, and the next session may admit readers.
func TestDamageBesideAnotherEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := analysts(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := eventfeed.New(eventfeed.Config{
		Store: r.store, Server: server, Now: time.Now, Logger: zerolog.Nop(), Pause: func(ctx context.Context, _ int) error { return ctx.Err() },
	})
	sessions := 0
	f.RunAs(func(context.Context) error {
		switch sessions++; sessions {
		case 1:
			server.Suspect("a message cannot be read")
			<-server.Damaged() // the watch has the signal, and the session does not see its end
			return eventstream.ErrConflict
		default:
			if reason := server.Damage(); reason != "" {
				t.Errorf("the server was not restarted: %s", reason)
			}
			cancel()
			return context.Canceled
		}
	})
	if err := f.Run(ctx); err != nil || sessions != 2 || f.Faults() != 1 {
		t.Errorf("%d sessions, %d faults, %v", sessions, f.Faults(), err)
	}
}

// TestSecondLook: the watch takes a difference from the log for damage only if it sees it twice.
// The server answers as if a message did not exist while it cannot open a file.
func TestSecondLook(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	size := r.payments(t, 1)
	for name, c := range map[string]struct {
		faults  []string
		damaged bool
	}{"once": {[]string{"message 1 is not there", ""}, false}, "twice": {[]string{"message 1 is not there", "message 1 is not there"}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := analysts(t, t.TempDir())
			gate := make(chan struct{})
			var looks atomic.Int64
			f := eventfeed.New(eventfeed.Config{
				Store: r.store, Server: server, Now: time.Now, Logger: zerolog.Nop(), Pause: func(ctx context.Context, _ int) error { return ctx.Err() },
				Rest: func(ctx context.Context, _ time.Duration) error {
					select {
					case <-gate:
						return ctx.Err()
					case <-ctx.Done():
						return ctx.Err()
					}
				},
			})
			f.CompareAs(func() (fault string, err error) {
				if n := int(looks.Add(1)); n <= len(c.faults) {
					fault = c.faults[n-1]
				}
				return fault, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- f.Run(ctx) }()
			defer func() {
				cancel()
				if err := <-ran; err != nil {
					t.Error(err)
				}
			}()
			fed(t, f, size)
			for range 3 { // the first look, the second one, and the next look: it comes after the decision
				gate <- struct{}{}
			}
			if got := f.Faults() > 0 || server.Damage() != ""; got != c.damaged || looks.Load() < 2 {
				t.Errorf("after %d looks the stream counts as damaged: %t", looks.Load(), got)
			}
		})
	}
}
