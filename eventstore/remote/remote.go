package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/due"
	"payledger/eventstore/external"
	"payledger/eventstore/fault"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

const (
	pageMessages = 256
	missingPause = 500 * time.Millisecond
)

// Log is a log on an external cluster.
type Log struct {
	Shards int

	api     *jetapi.Client
	streams atomic.Pointer[map[string]jetstream.StreamConfig] // each list replaces it
	missing time.Duration                                     // after which a missing message is damage

	restoring bool
}

// Open connects to a cluster with a log; fault.ErrNotFound if it has none, and streams.ErrRestoring
// if its log is being restored.
func Open(ctx context.Context, a external.Access) (*Log, error) { return open(ctx, dialer(a), false) }

// OpenRestoring is Open for the restore that makes the log.
func OpenRestoring(ctx context.Context, a external.Access) (*Log, error) {
	return open(ctx, dialer(a), true)
}

// Over is Open for a store, with connections to the server that the store uses.
func Over(ctx context.Context, dial func() (*nats.Conn, error)) (*Log, error) {
	return open(ctx, dial, false)
}

func dialer(a external.Access) func() (*nats.Conn, error) {
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // Log.denied returns them
	return func() (*nats.Conn, error) { return a.Connect(append(jetapi.External(), quiet)...) }
}

func open(ctx context.Context, dial func() (*nats.Conn, error), restoring bool) (*Log, error) {
	nc, err := dial()
	if err != nil {
		return nil, err
	}
	l := &Log{api: &jetapi.Client{Conn: nc}, restoring: restoring}
	if l.api.JS, err = jetstream.New(nc); err == nil {
		err = l.api.OpenReaders(1, dial)
	}
	if err == nil {
		err = l.list(ctx)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close ends the connections.
func (l *Log) Close() { l.api.Close() }

// Server returns the access for package secretlog.
func (l *Log) Server() *jetapi.Client { return l.api }

func (l *Log) list(ctx context.Context) error {
	found := map[string]jetstream.StreamConfig{}
	all, err := jetapi.ListStreams(ctx, l.api.JS, "")
	if err != nil {
		return l.denied(fmt.Errorf("NATS: list of streams: %w", err))
	}
	for _, info := range all {
		name := info.Config.Name
		if streams.Ours(name) {
			found[name] = info.Config
		}
	}
	first, there := found[streams.Name(0, 1)]
	if !there {
		return fmt.Errorf("%w: the cluster holds no log", fault.ErrNotFound)
	}
	if streams.Restoring(first.Metadata) && !l.restoring {
		return streams.ErrRestoring
	}
	if err := streams.CheckFormat(first.Metadata); err != nil {
		return err
	}
	shards, err := strconv.Atoi(first.Metadata[streams.MetadataShards])
	if err != nil || shards < 1 || l.Shards > 0 && shards != l.Shards {
		return fault.Damage(first.Name, 1, errors.New("its description does not say how many shards the log has"))
	}
	if l.Shards == 0 { // later lists run beside reads
		l.Shards, l.api.Replicas = shards, first.Replicas
		if l.Replicated() {
			l.missing = jetapi.StaleLeader
		}
	}
	l.streams.Store(&found)
	return nil
}

// denied adds to an error that the user of the connection lacks a right, if the server said so.
func (l *Log) denied(err error) error {
	if why := l.api.Denied(); err != nil && why != nil {
		return fmt.Errorf("the NATS user lacks a right that this needs: %w (%w)", why, err)
	}
	return err
}

// Replicated reports whether several servers hold each message.
func (l *Log) Replicated() bool { return l.api.Replicas > 1 }

// Patience is how long a message must be missing at its leader before it is damage.
func (l *Log) Patience() time.Duration { return l.missing }

// Names returns the names of the streams.
func (l *Log) Names() []string { return slices.Sorted(maps.Keys(l.configs())) }

func (l *Log) configs() map[string]jetstream.StreamConfig {
	if found := l.streams.Load(); found != nil {
		return *found
	}
	return nil
}

// Description returns the configuration of a stream, in the form of the server's files, and the
// stream's first sequence. fs.ErrNotExist: the stream does not exist.
func (l *Log) Description(stream string) (text json.RawMessage, first uint64, err error) {
	config, there := l.configs()[stream]
	if !there {
		return nil, 0, fs.ErrNotExist
	}
	text, err = json.Marshal(config)
	return text, max(1, config.FirstSeq), err
}

// Read calls handle with the messages of a stream from a sequence through another one, in their
// order. With gaps, messages before through may be missing; any other missing message is an error.
// A record is valid only during the call.
func (l *Log) Read(ctx context.Context, stream string, from, through uint64, gaps bool, handle func(stored.Message) error) error {
	return l.read(ctx, stream, from, through, readRule{gaps, false}, handle)
}

// readRule is the set of messages that may be missing: some before the last one, and the last ones.
type readRule struct{ gaps, end bool }

func (l *Log) read(ctx context.Context, stream string, from, through uint64, may readRule, handle func(stored.Message) error) error {
	gaps := may.gaps
	next, since := from, time.Time{}
	take := func(m stored.Message) error {
		if !gaps && m.Seq != next {
			return fault.Damage(stream, next, fmt.Errorf("message %d follows the one before", m.Seq))
		}
		next, since = m.Seq+1, time.Time{}
		return handle(m)
	}
	for next <= through {
		before := next
		if err := l.page(ctx, stream, next, through, gaps, take); err != nil {
			return err
		}
		if next > before {
			continue
		}
		m, err := l.atLeader(ctx, stream, next)
		switch {
		case err == nil && (m.Seq == next || gaps):
			if m.Seq > through {
				return nil
			}
			if err := take(m); err != nil {
				return err
			}
			continue
		case err == nil:
		case !errors.Is(err, fault.ErrNotFound):
			return l.denied(err)
		case may.end:
			return nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) >= l.missing {
			return fault.Damage(stream, next, errors.New("the message is missing"))
		}
		if err := due.Rest(ctx, missingPause, nil); err != nil {
			return err
		}
	}
	return nil
}

// page reads messages from one server. It reads none if that server does not answer, or has no
// message at the place.
func (l *Log) page(ctx context.Context, stream string, from, through uint64, gaps bool, take func(stored.Message) error) error {
	next, n := from, min(pageMessages, through-from+1)
	var failed error // of take
	_, _ = l.api.Page(ctx, 0, stream, ">", from, n, func(seq uint64, m *nats.Msg) (bool, error) {
		if seq > through || !gaps && seq != next {
			return false, nil
		}
		next = seq + 1
		failed = take(stored.Message{Seq: seq, Subject: m.Header.Get(jetstream.SubjectHeader), Header: ownHeader(m.Header), Body: m.Data})
		return failed == nil, nil
	}) // the leader answers what this server did not
	return cmp.Or(failed, ctx.Err())
}

// AtLeader returns a message as the leader of its stream has it; fault.ErrNotFound if there is
// none.
func (l *Log) AtLeader(ctx context.Context, stream string, seq uint64) (stored.Message, error) {
	m, err := l.api.AtLeader(ctx, stream, jetapi.Get{Seq: seq})
	return m, l.denied(err)
}

func (l *Log) atLeader(ctx context.Context, stream string, from uint64) (stored.Message, error) {
	return l.api.AtLeader(ctx, stream, jetapi.Get{Seq: from, NextBySubject: ">"})
}

// ownHeader returns a message's NATS header as it was published, without the lines that the server
// added to its answer; nil without one.
func ownHeader(h nats.Header) []byte {
	for _, added := range []string{
		jetstream.StreamHeader, jetstream.SequenceHeader, jetstream.TimeStampHeaer, jetstream.SubjectHeader, jetstream.LastSequenceHeader, "Nats-Num-Pending", "Nats-UpTo-Sequence",
	} {
		h.Del(added)
	}
	if len(h) == 0 {
		return nil
	}
	b := []byte("NATS/1.0\r\n")
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

// Secrets returns the reader of SECRETS. The message at through must exist; the last messages of an
// older segment may be destroyed.
func (l *Log) Secrets() secretlog.Reader {
	return func(ctx context.Context, after, through uint64, handle func(stored.Message) error) (last uint64, err error) {
		segments, err := secretlog.SegmentsOn(ctx, l.Server())
		for _, g := range segments {
			from, to, end := max(after+1, g.First), cmp.Or(through, ^uint64(0)-1), through == 0
			if g.Last > 0 && g.Last < to {
				to, end = g.Last, true
			}
			if err == nil && from <= to {
				err = l.read(ctx, g.Name(), from, to, readRule{true, end}, func(r stored.Message) error {
					last = r.Seq
					return handle(r)
				})
			}
		}
		return last, err
	}
}
