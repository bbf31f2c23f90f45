package eventfeed_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/eventstream"
	"payledger/projections/eventfeed"
)

// TestDamagedWhileServing: damage of the files of EVENTS while the service runs is noticed, with a
// reader and without one. The feed reports a fault until the stream is written again. A reader is
// disconnected, and then can read every event.
func TestDamagedWhileServing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	size := r.payments(t, 10)
	const byReader, byWatch = "by a reader", "by the watch"
	for name, damage := range map[string]struct {
		make  func(t *testing.T, block string)
		found []string
	}{
		"a message":     {func(t *testing.T, block string) { flip(t, block, record(t, block)-checksum-1, 1) }, []string{byWatch}},     // the server skips it for a reader
		"a sequence":    {func(t *testing.T, block string) { flip(t, block, record(t, block)+highOfSequence, 1) }, []string{byWatch}}, // a server that reads it enters sequences as deleted until its memory ends
		"all bytes":     {func(t *testing.T, block string) { flip(t, block, 0, 1<<30) }, []string{byReader, byWatch}},
		"the last half": {func(t *testing.T, block string) { truncate(t, []string{block}) }, []string{byReader, byWatch}},
		"an empty block": {func(t *testing.T, block string) {
			if err := os.Truncate(block, 0); err != nil {
				t.Fatal(err)
			}
		}, []string{byWatch}}, // the server drops all messages without a warning
		"no block": {func(t *testing.T, block string) { remove(t, []string{block}) }, []string{byWatch}}, // the server has it open
	} {
		for _, by := range damage.found {
			t.Run(name+", "+by, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				server := analysts(t, dir)
				f, end := r.feed(t, server, nil)
				fed(t, f, size)
				end()
				server.Close() // a server that starts has no message in memory
				server = analysts(t, dir)

				gate := make(chan struct{})
				f, end = r.feed(t, server, func(c *eventfeed.Config) {
					c.Rest = func(ctx context.Context, _ time.Duration) error { // the watch looks as soon as it may
						select {
						case <-gate:
							return ctx.Err()
						case <-ctx.Done():
							return ctx.Err()
						}
					}
				})
				fed(t, f, size)
				user, ended := analyst(t, server)
				damage.make(t, files(t, dir, "msgs/*.blk")[0])
				runtime.GC() // the server keeps blocks in weak pointers
				if by == byReader {
					consumer, err := user.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Name: "one"})
					if err == nil {
						_, err = consumer.Fetch(int(size))
					}
					if err != nil {
						t.Fatal(err)
					}
					<-ended
				} else {
					close(gate)
				}
				await(t, "the stream is not written again", func() bool { return f.Faults() > 0 && f.Position() == size && f.Fault() == "" })
				end()
				r.equal(t, server, 1)
				user, _ = analyst(t, server)
				consumer, err := user.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Name: "two"})
				if err != nil {
					t.Fatal(err)
				}
				if n, err := read(consumer, int(size)); err != nil || n != int(size) {
					t.Errorf("a reader has %d of %d events: %v", n, size, err)
				}
			})
		}
	}
}

// flip changes the bits of n bytes of a file, from the byte begin on.
func flip(t testing.TB, name string, begin, n int) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := begin; i < min(begin+n, len(data)); i++ {
		data[i] ^= 0x5a
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Bytes of a record: the checksum at its end, and the place of a high byte of its sequence.
const (
	checksum       = 8
	highOfSequence = 4 + 6
)

// record returns the place of a record in the middle of a block.
func record(t testing.TB, block string) (place int) {
	t.Helper()
	data, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	const hasHeader = 1 << 31
	for place < len(data)/2 {
		place += int(binary.LittleEndian.Uint32(data[place:]) &^ hasHeader)
	}
	return place
}

// analyst returns a connection of a user of the account's events. ended is closed when the
// connection has ended.
func analyst(t testing.TB, server *eventstream.Server) (js jetstream.JetStream, ended chan struct{}) {
	t.Helper()
	text, key, err := server.Credentials(string(account), "analyst")
	if err == nil {
		err = server.SetUsers(map[string][]eventstream.User{string(account): {{Name: "analyst", Key: key}}})
	}
	path := filepath.Join(t.TempDir(), "user.creds")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan struct{})
	conn, err := nats.Connect(server.URL(), nats.UserCredentials(path), nats.NoReconnect(), nats.Timeout(time.Minute),
		nats.ClosedHandler(func(*nats.Conn) { close(ended) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	return js, ended
}

// read reads messages of a consumer until it has n of them, and returns their number.
func read(c jetstream.Consumer, n int) (int, error) {
	for got := 0; ; {
		batch, err := c.Fetch(n-got, jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			return got, err
		}
		for m := range batch.Messages() {
			got++
			if err := m.Ack(); err != nil {
				return got, err
			}
		}
		if err := batch.Error(); err != nil || got == n {
			return got, err
		}
	}
}
