package blocks_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	_ "payledger/domain/scratchtest"
	"payledger/domain/seedtest"
	"payledger/eventstore/blocks"
	"payledger/eventstore/stored"
)

const account = "$G"

// rig is a real server in this process.
type rig struct {
	t   testing.TB
	dir string
	ns  *server.Server
	nc  *nats.Conn
	js  jetstream.JetStream
}

func start(t testing.TB, dir string) *rig {
	t.Helper()
	ns, err := server.NewServer(&server.Options{
		ServerName: "blocks", DontListen: true, JetStream: true, StoreDir: dir, SyncAlways: true, NoLog: true, NoSigs: true,
		MaxPayload: 8 << 20, MaxPending: 64 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	r := &rig{t: t, dir: dir, ns: ns}
	t.Cleanup(r.stop)
	if !ns.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server did not become ready")
	}
	if r.nc, err = nats.Connect("", nats.InProcessServer(ns), nats.Timeout(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if r.js, err = jetstream.New(r.nc, jetstream.WithDefaultTimeout(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return r
}

// stop ends the server in order.
func (r *rig) stop() {
	if r.nc != nil {
		r.nc.Close()
	}
	r.ns.Shutdown()
	r.ns.WaitForShutdown()
}

// stream makes a stream whose blocks hold 32 kB if small is set: the server chooses the size of
// blocks by max_bytes when the stream is made, and keeps it until it stops.
func (r *rig) stream(c jetstream.StreamConfig, small bool) jetstream.Stream {
	r.t.Helper()
	c.Storage = jetstream.FileStorage
	if small {
		c.MaxBytes = 100_000
	}
	s, err := r.js.CreateStream(r.t.Context(), c)
	if err == nil && small {
		c.MaxBytes = -1
		s, err = r.js.UpdateStream(r.t.Context(), c)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// publish appends one message and returns its sequence.
func (r *rig) publish(subject string, header nats.Header, body []byte) uint64 {
	r.t.Helper()
	ack, err := r.js.PublishMsg(r.t.Context(), &nats.Msg{Subject: subject, Header: header, Data: body})
	if err != nil {
		r.t.Fatal(err)
	}
	return ack.Sequence
}

// messages returns all messages of a stream as text.
func (r *rig) messages(stream string) map[uint64]string {
	r.t.Helper()
	s, err := r.js.Stream(r.t.Context(), stream)
	if err != nil {
		r.t.Fatal(err)
	}
	state, all := s.CachedInfo().State, map[uint64]string{}
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		m, err := s.GetMsg(r.t.Context(), seq)
		if err == nil {
			all[seq] = describe(m.Subject, len(m.Header), m.Time.UnixNano(), m.Data)
		}
	}
	if uint64(len(all)) != state.Msgs {
		r.t.Fatalf("%s: read %d of %d messages", stream, len(all), state.Msgs)
	}
	return all
}

func describe(subject string, headers int, at int64, body []byte) string {
	return fmt.Sprintf("%s %d %d %x", subject, headers, at, sha256.Sum256(body))
}

// records returns the messages that Verify reads, in the same form, with the report.
func records(t testing.TB, dir, stream string, o blocks.Options) (map[uint64]string, blocks.Report) {
	t.Helper()
	all := map[uint64]string{}
	o.Handle = func(r stored.Message) error {
		switch {
		case r.Tombstone || r.Erased:
			delete(all, r.Seq)
		default:
			headers, err := nats.DecodeHeadersMsg(r.Header)
			if r.Header != nil && err != nil {
				return err
			}
			all[r.Seq] = describe(r.Subject, len(headers), r.Time, r.Body)
		}
		return nil
	}
	return all, verify(t, dir, stream, o)
}

func verify(t testing.TB, dir, stream string, o blocks.Options) blocks.Report {
	t.Helper()
	report, err := blocks.Verify(dir, account, stream, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// fill publishes n messages of many sizes, some with headers.
func (r *rig) fill(random *rand.Rand, subject func(i int) string, n, largest int) (last uint64) {
	r.t.Helper()
	for i := range n {
		var header nats.Header
		for range i % 4 {
			header = nats.Header{"Part": {fmt.Sprint(i)}, "Other": {"a", "b"}}
		}
		last = r.publish(subject(i), header, bytesOf(random, size(random, i, largest)))
	}
	return last
}

func size(random *rand.Rand, i, largest int) int {
	if i%7 == 0 {
		return i % 3
	}
	return random.IntN(largest)
}

func bytesOf(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func literal(subject string) func(int) string { return func(int) string { return subject } }

// seeded returns a source of random numbers with a fixed seed, and logs the seed.
func seeded(t testing.TB, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// scale picks a number: the first for a sample, the second else.
func scale(sample, whole int) int {
	if seedtest.Sampled() {
		return sample
	}
	return whole
}

// copied returns a copy of a store.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// tree returns the size, time and hash of every file of a store.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameMessages(t testing.TB, want, have map[uint64]string) {
	t.Helper()
	if !maps.Equal(want, have) {
		t.Errorf("%d messages are not those %d of the server", len(have), len(want))
	}
}

func isClean(t testing.TB, r blocks.Report) {
	t.Helper()
	if r.Kind != blocks.Clean || len(r.Faults) > 0 {
		t.Fatalf("%s is %v: %v", r.Stream, r.Kind, r.Faults)
	}
}

func files(t testing.TB, dir, stream string) []blocks.File {
	t.Helper()
	all, err := blocks.Files(blocks.Folder(dir, account, stream))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// erase deletes a message; secure overwrites it.
func erase(t testing.TB, s jetstream.Stream, seq uint64, secure bool) {
	t.Helper()
	remove := s.DeleteMsg
	if secure {
		remove = s.SecureDeleteMsg
	}
	if err := remove(context.WithoutCancel(t.Context()), seq); err != nil {
		t.Fatal(err)
	}
}
