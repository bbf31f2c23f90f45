package eventfeed_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/eventstream"
	"payledger/eventstore/ordered"
	"payledger/projections/eventfeed"
)

// TestFeed: the stream has every event of the log at its position, and goes on after a restart of
// the feed and of the server.
func TestFeed(t *testing.T) {
	t.Parallel()
	r, dir := newRig(t), t.TempDir()
	size := r.payments(t, 30)
	server := analysts(t, dir)
	f, end := r.feed(t, server, nil)
	fed(t, f, size)
	fed(t, f, r.payments(t, 5))
	end()
	r.equal(t, server, 1)
	server.Close()

	size = r.payments(t, 5)
	server = analysts(t, dir)
	f, end = r.feed(t, server, nil)
	fed(t, f, size)
	if err := server.Restart(); err != nil { // the feed's connection breaks
		t.Fatal(err)
	}
	fed(t, f, r.payments(t, 5))
	end()
	r.equal(t, server, 1)
}

// TestDamagedStream: a stream with damage that the server or a comparison notices is written again,
// with the same sequences.
func TestDamagedStream(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	size := r.payments(t, 10)
	write := func(name string, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Error(err)
		}
	}
	flip := func(dir, pattern string) {
		for _, name := range files(t, dir, pattern) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for n := range data {
				data[n] ^= 0x55
			}
			write(name, data)
		}
	}
	damages := map[string]func(dir string){
		"nothing":        func(string) {},
		"configuration":  func(dir string) { flip(dir, "meta.inf") },
		"its checksum":   func(dir string) { flip(dir, "meta.sum") },
		"blocks":         func(dir string) { flip(dir, "msgs/*.blk") },
		"all files":      func(dir string) { flip(dir, "meta.*"); flip(dir, "msgs/*") },
		"no blocks":      func(dir string) { remove(t, files(t, dir, "msgs/*")) },
		"no index":       func(dir string) { remove(t, files(t, dir, "msgs/index.db")) },
		"no stream":      func(dir string) { remove(t, files(t, dir, "")) },
		"no folder":      func(dir string) { remove(t, []string{filepath.Join(dir, "jetstream")}) },
		"end of a block": func(dir string) { truncate(t, files(t, dir, "msgs/*.blk")) },
		"a file in place": func(dir string) {
			remove(t, []string{filepath.Join(dir, "jetstream")})
			write(filepath.Join(dir, "jetstream"), nil)
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server := analysts(t, dir)
			f, end := r.feed(t, server, nil)
			fed(t, f, size)
			end()
			server.Close()
			damage(dir)
			server = analysts(t, dir)
			f, end = r.feed(t, server, nil)
			fed(t, f, size)
			end()
			r.equal(t, server, 1)
			if f.Failing() {
				t.Error("the feed reports a failure")
			}
		})
	}
}

func remove(t testing.TB, names []string) {
	for _, name := range names {
		if err := os.RemoveAll(name); err != nil {
			t.Error(err)
		}
	}
}

func truncate(t testing.TB, names []string) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil {
			err = os.Truncate(name, info.Size()/2)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestFalseStream: a stream with other messages than the log's, or with more, is written again.
func TestFalseStream(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newRig(t)
	size := r.payments(t, 3)
	for name, n := range map[string]uint64{"other messages": size, "more messages": size + 1, "one message": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := analysts(t, t.TempDir())
			stream, err := server.Connect()
			if err == nil {
				err = stream.Create(t.Context(), 1, 0)
			}
			for position := uint64(1); position <= n && err == nil; position++ {
				err = stream.Publish(t.Context(), eventstream.Message{Position: position, Account: "a", Type: "payment.forged"})
			}
			if err == nil {
				err = stream.Flush(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			stream.Close()
			f, end := r.feed(t, server, nil)
			fed(t, f, size)
			end()
			r.equal(t, server, 1)
		})
	}
}

// TestTwoWriters: two feeds write one stream at the same time, without a failure, a second message
// or a gap.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	size := r.payments(t, 30)
	server := analysts(t, t.TempDir())
	stream, err := server.Connect()
	if err == nil {
		err = stream.Create(t.Context(), 1, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	stream.Close()
	faultless := func(c *eventfeed.Config) {
		c.Pause = func(ctx context.Context, failures int) error {
			t.Errorf("%d failures", failures)
			return ctx.Err()
		}
	}
	one, endOne := r.feed(t, server, faultless)
	other, endOther := r.feed(t, server, faultless)
	for range 3 {
		fed(t, one, size)
		fed(t, other, size)
		size = r.payments(t, 10)
	}
	fed(t, one, size)
	fed(t, other, size)
	endOne()
	endOther()
	r.equal(t, server, 1)
}

// TestExtendedDuringTheCheck: another feed adds events to the log's end while a feed checks the
// stream. The stream is not ahead of the log, and stays as it is.
func TestExtendedDuringTheCheck(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	size := r.payments(t, 5)
	server := analysts(t, t.TempDir())
	writer, end := r.feed(t, server, nil)
	fed(t, writer, size)
	f := eventfeed.New(eventfeed.Config{Store: r.store, Server: server, Now: time.Now, Logger: zerolog.New(zerolog.NewTestWriter(t))})
	f.SizeRead(func() {
		size = r.payments(t, 5)
		fed(t, writer, size)
	})
	stream, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if last, err := f.Check(t.Context(), stream); err != nil || last == 0 || f.Fault() != "" {
		t.Errorf("the check returns position %d, %v; the fault: %s", last, err, f.Fault())
	}
	end()
	r.equal(t, server, 1)
}

// TestStoppedAtEachMoment checks that the next process completes the stream, whenever the process
// before it ends. The copy of the folder is the state that a killed process leaves.
func TestStoppedAtEachMoment(t *testing.T) {
	t.Parallel()
	r, dir := newRig(t), t.TempDir()
	payments, most := 40, 12
	if seedtest.Sampled() {
		payments, most = 20, 4
	}
	size := r.payments(t, payments)
	server := analysts(t, dir)
	f, end := r.feed(t, server, nil)
	var copies []string
	for n := 0; n < most && (f.Position() < size || n < 3); n++ {
		to := t.TempDir()
		if err := copyFolder(to, dir); err == nil { // else a file disappeared meanwhile
			copies = append(copies, to)
		}
	}
	fed(t, f, size)
	end()
	for _, left := range copies {
		server := analysts(t, left)
		f, end := r.feed(t, server, nil)
		fed(t, f, size)
		end()
		r.equal(t, server, 1)
		server.Close()
	}
	t.Logf("%d copies", len(copies))
	if len(copies) == 0 {
		t.Error("no copy was made")
	}
}

// copyFolder copies the files of a folder as they are at this moment.
func copyFolder(to, from string) error {
	return os.CopyFS(to, os.DirFS(from))
}

// TestRetention: a stream that is written anew begins with the first event that is young enough;
// events leave when they are too old, and a restart then goes on behind them.
func TestRetention(t *testing.T) {
	t.Parallel()
	r, dir := newRig(t), t.TempDir()
	half := r.payments(t, 5)
	size := r.payments(t, 5) // of later checkpoints: within one, positions do not follow the time
	var middle time.Time     // the oldest event of the second half
	if _, err := r.log.Read(t.Context(), half, func(e ordered.Event) error {
		if middle.IsZero() || e.Time.Before(middle) {
			middle = e.Time
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	const hour = time.Hour
	retained := func(c *eventfeed.Config) {
		c.Retention, c.Now = hour, func() time.Time { return middle.Add(hour) }
	}
	server := analysts(t, dir)
	f, end := r.feed(t, server, retained)
	fed(t, f, size)
	end()
	state := stateOf(t, server)
	if state.First != half+1 || state.Last != size {
		t.Errorf("the stream is %+v, of %d events from %d on", state, size, half+1)
	}
	r.equal(t, server, state.First)

	short := func(c *eventfeed.Config) { c.Retention = 100 * time.Millisecond }
	f, end = r.feed(t, server, short)
	fed(t, f, size)
	await(t, "old messages stay", func() bool { return stateOf(t, server).First == size+1 })
	end()
	server.Close()
	server = analysts(t, dir)
	f, end = r.feed(t, server, func(c *eventfeed.Config) {
		c.Retention, c.Now = hour, func() time.Time { return time.Now().Add(2 * hour) } // all events are old
	})
	more := r.payments(t, 2)
	fed(t, f, more)
	end()
	r.equal(t, server, size+1)

	f, end = r.feed(t, server, nil) // without a retention, all are kept again
	fed(t, f, more)
	end()
	r.equal(t, server, 1)
}

func stateOf(t testing.TB, server *eventstream.Server) eventstream.State {
	t.Helper()
	stream, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	state, err := stream.State(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return state
}
