package faulttest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/checkpointlog"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/embedded"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/secretlog"
)

// The aggregate of these tests: a list of texts.
type (
	note  struct{ Lines []string }
	noted struct{ Text string }
)

func (noted) Type() string { return "note.noted" }

var notes = format.NewAggregate("note", 1, []noted{{}}, func(s note, e noted) note {
	return note{append(append([]string{}, s.Lines...), e.Text[:min(8, len(e.Text))])}
})

// open is a log in use, with all streams beside it.
type open struct {
	server     *embedded.Server
	store      *engine.Store
	secrets    *secretlog.Stream
	deliveries *deliverylog.Stream
}

const (
	shards       = 2
	segmentBytes = 48 << 10
	recordBytes  = 9 << 10 // of a delivery: some of them fill a segment
)

// start opens the log in dir. After an error nothing is left open.
func start(ctx context.Context, dir string, changes ...func(*engine.Config)) (o *open, err error) {
	o = &open{}
	if o.server, err = embedded.Start(embedded.Config{Dir: dir, Name: "test"}); err != nil {
		return nil, err
	}
	c := eventstoretest.Config(o.server)
	c.Shards, c.SegmentBytes, c.SecretBytes, c.Memory = shards, segmentBytes, 4<<10, 1<<20
	for _, change := range changes {
		change(&c)
	}
	if o.store, err = engine.Open(ctx, c); err != nil {
		return nil, errors.Join(errOpen, err, o.server.Close())
	}
	o.deliveries = o.store.Deliveries()
	if o.secrets, err = o.store.OpenSecrets(ctx); err != nil {
		return nil, errors.Join(errOpen, err, o.stop())
	}
	return o, nil
}

// errOpen says that a start was refused after the server had started.
var errOpen = errors.New("the server had started")

func (o *open) stop() error { return errors.Join(o.store.Close(), o.server.Close()) }

// template is a stopped log in two states, with its answers.
type template struct {
	older, newer string
	answers      answers
	books        *books
}

// books is everything that was put into the template, and is read back.
type books struct {
	keys       []eventstore.Key
	secrets    []string
	records    map[string]uint64 // deliveries by name: the newest record
	beside     uint64            // the newest record of one beside them
	deliveries []string
	readers    []string
}

// logOf returns the template. All tests read the same one, and copy it before they change it.
func logOf(t testing.TB) (*template, *books) {
	t.Helper()
	made, err := oneTemplate()
	if err != nil {
		t.Fatal(err)
	}
	return made, made.books
}

var oneTemplate = sync.OnceValues(makeTemplate)

// makeTemplate uses a log, stops it, keeps a copy, and uses it again.
func makeTemplate() (*template, error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "template")
	if err != nil {
		return nil, err
	}
	b := &books{records: map[string]uint64{}}
	m := &template{older: filepath.Join(dir, "older"), newer: filepath.Join(dir, "newer"), books: b}
	used := filepath.Join(dir, "used")
	for i := range 24 {
		b.keys = append(b.keys, notes.Key("acct", fmt.Sprintf("01note%020d", i)))
	}
	b.keys = append(b.keys, notes.Key("acct", "01note99999999999999999999")) // it never exists
	b.readers = []string{"workflows", "others", "nobody"}
	use := func(phase int, segment int64) error {
		o, err := start(ctx, used, func(c *engine.Config) { c.SegmentBytes = segment })
		if err != nil {
			return err
		}
		return errors.Join(o.use(ctx, b, phase), o.stop())
	}
	if err := use(1, segmentBytes); err != nil {
		return nil, err
	}
	if err := eventstoretest.CopyLog(m.older, used); err != nil {
		return nil, err
	}
	if err := errors.Join(use(2, segmentBytes), use(3, 10<<20), use(4, segmentBytes)); err != nil {
		return nil, err
	}
	o, err := start(ctx, used)
	if err != nil {
		return nil, err
	}
	m.answers, err = o.ask(ctx, b)
	return m, errors.Join(err, o.stop(), eventstoretest.CopyLog(m.newer, used), os.RemoveAll(used))
}

// use adds records of every kind to the log.
func (o *open) use(ctx context.Context, b *books, phase int) error {
	random := mathrand.New(mathrand.NewPCG(uint64(phase), 7))
	text := make([]byte, 900)
	for i := range 160 {
		for j := range text {
			text[j] = byte('a' + random.IntN(26))
		}
		key := b.keys[(i*7+phase)%(len(b.keys)-1)]
		meta, err := o.store.NewMeta("test", "")
		if err != nil {
			return err
		}
		_, err = eventstore.Execute(ctx, o.store, notes, key, meta, func(note) (noted, error) { return noted{string(text)}, nil })
		if err != nil {
			return err
		}
	}
	if phase == 3 { // a segment with more than one block of the server
		if err := o.useLarge(ctx, b.keys[0]); err != nil {
			return err
		}
	}
	err := o.useSecrets(ctx, b, phase)
	for i := 0; i < 45 && err == nil; i++ {
		err = o.useDelivery(ctx, b, phase, i)
	}
	for i := 0; i < 3 && err == nil; i++ {
		err = eventstoretest.SavePosition(ctx, o.deliveries, b.readers[i%2], []uint64{format.At(uint64(phase), i), 0})
		if err == nil {
			b.beside, err = o.deliveries.Put(ctx, "beside", b.beside, fmt.Appendf(nil, "%d.%d", phase, i), false)
		}
	}
	return errors.Join(err, eventstoretest.Again(ctx, func() error { return o.checkpoint(ctx) }))
}

// useLarge appends events that fill a block.
func (o *open) useLarge(ctx context.Context, key eventstore.Key) error {
	text := make([]byte, 1<<20)
	for range 5 {
		if _, err := rand.Read(text); err != nil {
			return err
		}
		meta, err := o.store.NewMeta("test", "")
		if err != nil {
			return err
		}
		large := noted{hex.EncodeToString(text)}
		if _, err = eventstore.Execute(ctx, o.store, notes, key, meta, func(note) (noted, error) { return large, nil }); err != nil {
			return err
		}
	}
	return nil
}

// useSecrets creates values of all lives and destroys some, of this phase and of earlier ones.
func (o *open) useSecrets(ctx context.Context, b *books, phase int) error {
	value := make([]byte, 200)
	for i := range 12 {
		for _, kind := range []string{"customer-key.acct", "signing-secret.acct", "card." + fmt.Sprint(phase)} {
			name := fmt.Sprintf("%s.%d%02d", kind, phase, i)
			if _, err := rand.Read(value); err != nil {
				return err
			}
			create := o.secrets.Create
			if strings.HasPrefix(kind, "card.") {
				create = func(ctx context.Context, name string, value []byte) error {
					return o.secrets.CreateIn(ctx, kind, name, value)
				}
			}
			if err := create(ctx, name, value); err != nil {
				return err
			}
			b.secrets = append(b.secrets, name)
		}
	}
	b.secrets = append(b.secrets, fmt.Sprintf("customer-key.never.%d", phase))
	for _, name := range []string{fmt.Sprintf("customer-key.acct.%d03", phase), fmt.Sprintf("signing-secret.acct.%d05", max(1, phase-1))} {
		if err := eventstoretest.Again(ctx, func() error { return o.secrets.Destroy(ctx, name) }); err != nil {
			return err
		}
	}
	if phase < 2 {
		return nil
	}
	return eventstoretest.Again(ctx, func() error { return o.secrets.Purge(ctx, fmt.Sprintf("card.%d", phase-1), math.MaxUint64) })
}

// useDelivery adds a record of a delivery; every third has an earlier one.
func (o *open) useDelivery(ctx context.Context, b *books, phase, i int) error {
	name := fmt.Sprintf("acct.endpoint.%d.created", phase*100+i-i%3)
	body := make([]byte, recordBytes)
	if _, err := rand.Read(body); err != nil {
		return err
	}
	if b.records[name] == 0 {
		b.deliveries = append(b.deliveries, name)
	}
	seq, err := o.deliveries.Put(ctx, name, b.records[name], body, i%2 == 0)
	b.records[name] = seq
	return err
}

// checkpoint runs the checkpointer until everything is covered.
func (o *open) checkpoint(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	fanout := eventstore.NewFanout(o.store)
	signer, err := newSigner()
	if err != nil {
		return err
	}
	c, err := checkpointlog.NewWriter(ctx, o.store.Checkpoints(), fanout.Reader, signer)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- fanout.Run(ctx) }()
	go func() { ended <- c.Run(ctx) }()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for ; ; <-again.C {
		last, err := o.store.Checkpoints().Last(ctx)
		if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
			return err
		}
		if last.Size == o.store.Events() {
			break
		}
	}
	stop()
	<-ended
	<-ended
	return nil
}

// copyOf copies a folder into a new one that the test removes at its end.
func copyOf(t testing.TB, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	if err := eventstoretest.CopyLog(dir, from); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sizeOf is the size of all files below a folder.
func sizeOf(t testing.TB, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				n += info.Size()
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
