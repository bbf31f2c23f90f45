package modeltest

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"payledger/domain/seedtest"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

var (
	crashes = flag.Int("crashes", 0, "how many crashes and power failures TestCrashes makes; 0 is 60, and 12 for a sample")
	keep    = flag.String("keep", "", "folder for the folders that failed in TestCrashes, as they were found after the crash")
	rounds  = flag.Int("rounds", 0, "how many logs TestInProcess makes; 0 is 100, and 16 for a sample")
)

func TestMain(m *testing.M) {
	if os.Getenv(childFolder) != "" {
		os.Exit(runChild())
	}
	flag.Parse()
	eventstoretest.AtOnce(partsAtOnce, partsAtOnce)
	m.Run()
}

// partsAtOnce is how many parts of a test run beside each other: they wait for the disk most of the
// time.
const partsAtOnce = 8

// checks runs a property so many times, in parts beside each other. A failure is logged with its
// seed, and no file is left.
func checks(t *testing.T, n int, property func(*rapid.T)) {
	t.Helper()
	parts := min(n, partsAtOnce)
	n = (n + parts - 1) / parts
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(n), "rapid.nofailfile": "true", "rapid.shrinktime": "0s"} {
		given := false
		flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
		if given && name != "rapid.checks" {
			continue
		}
		if testing.Short() && name == "rapid.checks" {
			value = strconv.Itoa(5 * n) // rapid runs a fifth
		}
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("parts", func(t *testing.T) {
		for part := range parts {
			t.Run(strconv.Itoa(part+1), func(t *testing.T) {
				t.Parallel()
				seedtest.Check(t, property)
			})
		}
	})
}

// counts counts by name, over the parts of a test.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name] += n
}

// fates adds the fates of all calls of a model.
func (c *counts) fates(m *model) {
	for f, n := range m.tally() {
		c.add(fmt.Sprint(f), n)
	}
}

// size returns the number from the command line, or one of the defaults.
func size(asked, short, long int) int {
	switch {
	case asked > 0:
		return asked
	case seedtest.Sampled():
		return short
	default:
		return long
	}
}

// folder makes an empty folder.
func folder(t *rapid.T, within string) string {
	t.Helper()
	dir, err := os.MkdirTemp(within, "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// settings are those of a log and of one opening.
type settings struct {
	Shards   int   `json:"shards"`
	Segment  int64 `json:"segment"`
	Memory   int64 `json:"memory"`
	ReadOnly bool  `json:"readOnly"`
}

func (c settings) config(server *embedded.Server, log zerolog.Logger) engine.Config {
	return engine.Config{
		Server: server, Shards: c.Shards, SegmentBytes: c.Segment, Memory: c.Memory, ReadOnly: c.ReadOnly,
		Now: time.Now, Random: rand.Reader, Logger: log, ReadTimeout: lastLong,
	}
}

// lastLong is the time limit for every wait on a store that may hang.
const lastLong = 2 * time.Minute

// opened is a store with its own server.
type opened struct {
	server *embedded.Server
	store  *engine.Store
	wire   *wire
}

func open(dir string, c settings, log zerolog.Logger) (*opened, error) {
	server, err := embedded.Start(embedded.Config{Dir: dir, Name: "model"})
	if err != nil {
		return nil, err
	}
	o := &opened{server: server, wire: &wire{moved: make(chan struct{})}}
	config := c.config(server, log)
	config.Options = []nats.Option{o.wire.option}
	ctx, cancel := context.WithTimeout(context.Background(), lastLong)
	defer cancel()
	if o.store, err = engine.Open(ctx, config); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return o, nil
}

func (o *opened) close() error { return errors.Join(o.store.Close(), o.server.Close()) }

// dropTips deletes the tip store of a closed log.
func dropTips(dir string) error { return os.RemoveAll(filepath.Join(dir, "tips")) }

// lookAt opens a folder, reads all of the log, and closes it.
func lookAt(dir string, c settings) (v *view, err error) {
	o, err := open(dir, c, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), lastLong)
	defer cancel()
	return look(ctx, o.store)
}

// same compares two looks at a log.
func same(a, b *view) error {
	if a.ID != b.ID || !reflect.DeepEqual(a.Shards, b.Shards) {
		return fmt.Errorf("two looks at the log differ:\n%+v\n%+v", a.Shards, b.Shards)
	}
	return nil
}

// wire is the store's way to its server. It can be cut after some more bytes.
type wire struct {
	mu    sync.Mutex
	armed bool
	sent  bool // true: sent bytes count; false: received ones
	left  int
	down  int           // connections that were cut and not made again
	moved chan struct{} // closed and replaced when down changes
}

// option is a nats.Option: it puts the wire between the client and the server in this process.
func (w *wire) option(o *nats.Options) error {
	o.InProcessServer = wiredServer{o.InProcessServer, w}
	o.AsyncErrorCB = func(*nats.Conn, *nats.Subscription, error) {} // else they are printed
	o.ReconnectedCB = func(*nats.Conn) { w.count(-1) }
	return nil
}

func (w *wire) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down += n
	close(w.moved)
	w.moved = make(chan struct{})
}

// whole ends the plan to cut the wire, and waits until every connection is there again.
func (w *wire) whole(ctx context.Context) error {
	for {
		w.mu.Lock()
		w.armed = false
		down, moved := w.down, w.moved
		w.mu.Unlock()
		if down == 0 {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

type wiredServer struct {
	nats.InProcessConnProvider
	wire *wire
}

func (s wiredServer) InProcessConn() (net.Conn, error) {
	conn, err := s.InProcessConnProvider.InProcessConn()
	if err != nil {
		return nil, err
	}
	return &wiredConn{conn, s.wire}, nil
}

// cut has the wire cut after so many bytes more, once.
func (w *wire) cut(sent bool, after int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.sent, w.left = true, sent, after
}

// spend returns how many of n bytes still pass, and whether the wire is cut then.
func (w *wire) spend(sent bool, n int) (int, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed || w.sent != sent {
		return n, false
	}
	if n < w.left {
		w.left -= n
		return n, false
	}
	w.armed = false
	w.down++
	return w.left, true
}

type wiredConn struct {
	net.Conn
	wire *wire
}

func (c *wiredConn) Write(b []byte) (int, error) {
	n, cut := c.wire.spend(true, len(b))
	if !cut {
		return c.Conn.Write(b)
	}
	n, err := c.Conn.Write(b[:n])
	return n, errors.Join(err, c.Conn.Close(), net.ErrClosed)
}

func (c *wiredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	n, cut := c.wire.spend(false, n)
	if cut {
		err = errors.Join(err, c.Conn.Close(), net.ErrClosed)
	}
	return n, err
}
