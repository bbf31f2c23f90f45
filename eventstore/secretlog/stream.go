package secretlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	// createTimeout bounds the creation of a value with all its publishes.
	createTimeout = 15 * time.Second
	createPause   = 50 * time.Millisecond
)

// Config has the parts of a Stream.
type Config struct {
	API *jetapi.Client
	// The server is embedded, and no other process writes to the log; else it is a cluster, whose
	// log was made with this stream.
	Sole     bool
	ReadOnly bool   // nothing is written
	Bytes    uint64 // size from which the stream continues in a new segment; 0 takes 64 MiB
	Witness  *Witness
	Tips     *tipstore.Store // holds the index
	Fixed    bool            // Tips is not written
	Folder   string          // of the server's files; "" if this process does not have them
	Guard    *folder.Guard   // of Folder; nil without it
	Stream   func(streams.Segment) jetstream.StreamConfig
	Reader   int                        // number of the connection for look-ups
	Fail     func(err error, stop bool) // marks the log as unhealthy; with stop, the process must stop
	Log      zerolog.Logger
	Room     func() error    // returns an error while the disk is full
	Life     context.Context // ends with the store
}

// Last parts of the subjects.
const (
	valueTopic     = "value"
	groupTopic     = "group."
	destroyedTopic = "destroyed"
)

// Stream stores encrypted values by name; a name is dot-joined tokens.
type Stream struct {
	Config
	segments *segments
	index    *index
	gate     sync.RWMutex      // locked for writing while the next segment is created
	stepped  func(step string) // for tests

	mu     sync.Mutex
	failed int       // number of messages that were sent and had no answer
	before int       // failed at the time when the newest answered message was sent: earlier messages cannot be stored any more
	silent time.Time // when the first message without an answer in a row was sent; zero: the newest one had an answer
}

// Open finds or creates the stream, brings the index up to its end, and completes destructions that
// have begun.
func Open(ctx context.Context, c Config) (*Stream, error) {
	c.Bytes = cmp.Or(c.Bytes, segmentBytes)
	all := &segments{Config: c}
	b := &Stream{Config: c, segments: all, index: newIndex(c, all)}
	return b, b.open(ctx)
}

func (b *Stream) open(ctx context.Context) error {
	x := b.index
	if err := errors.Join(x.loadGenerations(), x.loadFloor()); err != nil {
		return err
	}
	last, err := b.openSegments(ctx)
	if err != nil {
		return err
	}
	view := b.Tips.Snapshot()
	x.applied, err = WitnessIn(view)
	view.Close()
	if err != nil {
		return x.broken(err)
	}
	x.acked = x.applied
	b.Witness.saw(x.applied)
	if last < x.applied {
		return x.damage(last+1, fmt.Sprintf("it ends here, but was acknowledged up to %d", x.applied))
	}
	switch {
	case b.ReadOnly, b.API.Replicas > 1, last == x.applied, b.Room() != nil:
		err = x.catchUp(ctx, last)
	default: // an acknowledged message makes all messages before it durable
		_, err = b.put(ctx, destroyedTopic, newDestruction("", "", nil))
	}
	if err == nil && !b.ReadOnly {
		err = b.finish(ctx)
	}
	if err == nil && b.Room() == nil {
		err = b.sweep(ctx)
	}
	return err
}

// openSegments finds the segments, or makes the first one if there is none. It returns the last
// sequence.
func (b *Stream) openSegments(ctx context.Context) (uint64, error) {
	var infos []*jetstream.StreamInfo
	var err error
	if b.Sole && !b.ReadOnly { // a cluster's log was made with it
		err = Make(ctx, b.API.JS, b.Stream)
	}
	if err == nil {
		infos, err = listSegments(ctx, b.API.JS)
	}
	if err == nil && len(infos) == 0 {
		err = jetstream.ErrStreamNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("eventstore: %s: %w", streams.Secrets, err)
	}
	dropped, err := b.index.droppedOn(ctx, infos)
	if err != nil {
		return 0, err
	}
	return b.segments.load(ctx, infos, dropped)
}

// OnDestroyed registers forget. From now on forget is called with the name of every destroyed
// value, as soon as this process has read the destruction. A caller that caches a value must call
// Stands afterwards: the destruction may have come before. forget must not block.
func (b *Stream) OnDestroyed(forget func(name string)) {
	b.index.mu.Lock()
	defer b.index.mu.Unlock()
	b.index.onDestroyed = append(b.index.onDestroyed, forget)
}

// Stands reports whether a name has a value, by the messages that this process has read.
func (b *Stream) Stands(name string) (bool, error) {
	e, err := b.index.entry(name)
	return e.stands(), err
}

// Create stores a value under a new name; ErrConflict if the name has a value. The value does not
// depend on the master key.
func (b *Stream) Create(ctx context.Context, name string, value []byte) error {
	return b.createNow(ctx, valueTopic, name, value)
}

// CreateSealed is Create for a value that is sealed with the master key of a generation;
// ErrGeneration if the generation is over.
func (b *Stream) CreateSealed(ctx context.Context, generation uint64, name string, value []byte) error {
	return b.create(ctx, valueTopic, newValueOf(generation, name, value))
}

// CreateIn is Create for a value of a group, which Purge deletes. The name must begin with the
// group and a dot.
func (b *Stream) CreateIn(ctx context.Context, group, name string, value []byte) error {
	return b.createNow(ctx, groupTopic+group, name, value)
}

// createNow stores a value in the generation in force.
func (b *Stream) createNow(ctx context.Context, subject, name string, value []byte) error {
	for {
		generation, _ := b.Generation()
		if err := b.create(ctx, subject, newValueOf(generation, name, value)); !errors.Is(err, ErrGeneration) {
			return err
		}
	}
}

func (b *Stream) create(ctx context.Context, subject string, r record) error {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	if err := b.Room(); err != nil {
		return err
	}
	for tried := false; ; tried = true {
		err := b.store(ctx, subject, r, tried)
		if err == nil || errors.Is(err, fault.ErrConflict) || errors.Is(err, fault.ErrUnhealthy) || errors.Is(err, ErrGeneration) {
			return err
		}
		if pauseErr := due.Rest(ctx, createPause, nil); pauseErr != nil {
			kind, _, _ := strings.Cut(r.name, ".") // the rest may contain a session id
			return fmt.Errorf("%w: secret of kind %s: %w", fault.ErrRefused, kind, err)
		}
	}
}

// store publishes a value once; ErrConflict if the name has another value. It destroys the
// published value at once if it is surplus: the first publish was stored although its answer was
// lost, or another value of the name came first.
func (b *Stream) store(ctx context.Context, subject string, r record, tried bool) error {
	e, err := b.index.entry(r.name)
	if err == nil && (e.stands() || tried) {
		if err = b.index.refresh(ctx); err == nil {
			e, err = b.index.entry(r.name)
		}
	}
	ours := tried && e.stands() && e.digest == r.digest()
	switch {
	case err != nil:
		return err
	case e.stands() && !ours:
		return fault.ErrConflict
	case ours && b.API.Replicas > 1:
		return nil
	}
	seq, err := b.put(ctx, subject, r) // if an earlier publish is in the stream, this one makes it durable
	if err != nil {
		return err
	}
	if e, err = b.index.entry(r.name); err != nil || e.seq == seq {
		return err
	}
	if _, err := b.destroy(ctx, "", "", []uint64{seq}); err != nil {
		return err
	}
	if e.stands() && e.digest == r.digest() {
		return nil
	}
	if now, _ := b.Generation(); now != r.generation {
		return ErrGeneration
	}
	return fault.ErrConflict
}

// put publishes a message once, and reads it and all messages before it into the index. Only an
// acknowledgement is a success.
func (b *Stream) put(ctx context.Context, subject string, r record) (uint64, error) {
	seq, err := b.send(ctx, subject, r)
	if err == nil {
		err = b.entered(ctx, seq)
	}
	return seq, err
}

// entered brings the index up to an acknowledged message, and begins the next segment if that is
// due.
func (b *Stream) entered(ctx context.Context, seq uint64) error {
	err := b.index.catchUp(ctx, seq)
	if err == nil && b.segments.full() {
		b.roll()
	}
	return err
}

// send is put without the read: the index does not have the message yet.
func (b *Stream) send(ctx context.Context, subject string, r record) (seq uint64, err error) {
	b.gate.RLock()
	defer b.gate.RUnlock()
	// It would not count, and its bytes would stay in the logs of the servers.
	if now, _ := b.Generation(); r.isValue() && r.generation < now {
		return 0, ErrGeneration
	}
	g := b.segments.all().Open()
	if err := b.mayAppend(ctx); err != nil {
		return 0, err
	}
	b.mu.Lock()
	failed := b.failed
	b.mu.Unlock()
	m := nats.NewMsg(subjectOf(g, subject))
	m.Data = r.body
	ack, err := b.API.Publish(ctx, m)
	b.answered(g, failed, err)
	switch {
	case err != nil:
		return 0, err
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Seq < g.First:
		return 0, errors.New("answer to a publish names no sequence")
	}
	b.segments.bytes.Add(uint64(len(m.Data) + len(m.Subject) + recordOverhead))
	b.index.acknowledged(ack.Seq)
	return ack.Seq, nil
}

// roll creates the next segment. If that fails, the next value tries again.
func (b *Stream) roll() {
	b.gate.Lock()
	defer b.gate.Unlock()
	if b.before < b.failed || !b.segments.full() { // a message without an answer may still be stored
		return
	}
	ctx, cancel := context.WithTimeout(b.Life, jetapi.ReadTimeout) // the context of the last writer may end
	defer cancel()
	if err := b.begin(ctx, b.Bytes); err != nil {
		b.Log.Warn().Err(err).Msg("the next segment of the secrets could not be begun; trying again")
	}
}

// begin begins a segment after the newest acknowledged message. The caller has locked the gate.
func (b *Stream) begin(ctx context.Context, bytes uint64) error {
	if err := b.index.refresh(ctx); err != nil {
		return err
	}
	applied, _ := b.index.place()
	return b.segments.begin(ctx, applied, bytes)
}

// Get returns a value; ErrNotFound if it was never stored, or was destroyed. A value that is
// missing for another reason is damage.
func (b *Stream) Get(ctx context.Context, name string) ([]byte, error) {
	var since time.Time
	for {
		e, err := b.index.find(ctx, name)
		if err != nil {
			return nil, err
		}
		value, err := b.index.read(ctx, name, e)
		lost := errors.Is(err, fault.ErrNotFound) || errors.Is(err, errRecord)
		if err == nil || !lost && (b.Sole || errors.Is(err, fault.ErrNoMajority)) {
			return value, err
		}
		// Another node may have destroyed the value, or dropped its segment: then there is no
		// stream that answers.
		if refreshErr := b.index.refresh(ctx); refreshErr != nil {
			return nil, refreshErr
		}
		switch now, entryErr := b.index.entry(name); {
		case entryErr != nil:
			return nil, entryErr
		case now != e:
			continue // destroyed or replaced meanwhile
		case !lost:
			return nil, err
		case since.IsZero():
			since = time.Now()
		}
		if b.API.Replicas == 1 || time.Since(since) > jetapi.StaleLeader {
			reason := "the record is missing"
			if errors.Is(err, errRecord) {
				reason = "it differs from the record that was acknowledged"
			}
			return nil, b.index.damage(e.seq, reason)
		}
		if err := due.Rest(ctx, recheckPause, nil); err != nil {
			return nil, err
		}
	}
}

// Refresh reads the stream up to its end.
func (b *Stream) Refresh(ctx context.Context) error { return b.index.refresh(ctx) }

// End returns the last sequence up to which this process has read the stream. All messages up to it
// are durable.
func (b *Stream) End() uint64 {
	applied, _ := b.index.place()
	return applied
}

// Names returns the names under a prefix; all names if the prefix is empty. It also finishes
// destructions that a crash of any node left.
func (b *Stream) Names(ctx context.Context, prefix string) ([]string, error) {
	if err := b.index.refresh(ctx); err != nil {
		return nil, fmt.Errorf("eventstore: secrets: %w", err)
	}
	if !b.ReadOnly {
		if err := b.finish(ctx); err != nil {
			return nil, err
		}
	}
	if prefix != "" {
		prefix += "."
	}
	all, err := b.index.under(nameKey(prefix))
	if err != nil {
		return nil, fmt.Errorf("eventstore: secrets: %w", err)
	}
	var names []string
	for rest := range all {
		names = append(names, prefix+rest)
	}
	return names, nil
}
