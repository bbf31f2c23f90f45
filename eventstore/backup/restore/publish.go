package restore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/domain/exactjson"
	"payledger/eventstore/backup"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/stored"
	"payledger/eventstore/streams"
)

// Bounds of the messages that wait for their acknowledgements.
const (
	waitingMessages = 512
	waitingBytes    = 16 << 20
	// answerTime bounds the wait for an acknowledgement. It is longer than an election.
	answerTime = time.Minute
)

// serverMetadata begins the names of metadata that the server sets itself.
const serverMetadata = "_nats."

type target struct {
	js        jetstream.JetStream
	replicas  int
	streams   map[string]*stream
	waiting   []sent
	bytes     int
	placement *jetstream.Placement
	mark      string                  // of the first stream, until the log is complete; "": none
	stepped   func(step string) error // for tests
}

type stream struct {
	name    string
	next    uint64    // the sequence of the next message
	first   uint64    // the sequence of the first message
	stays   uint64    // number of messages that stay
	digest  hash.Hash // of the messages that stay
	fillers uint64
	kept    uint64 // the sequence of the last message that stays
}

type sent struct {
	to    *stream
	seq   uint64
	bytes int
	ack   jetstream.PubAckFuture
}

func newTarget(nc *nats.Conn, replicas int) (*target, error) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(2*waitingMessages), jetstream.WithPublishAsyncTimeout(answerTime))
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	return &target{js: js, replicas: replicas, streams: map[string]*stream{}}, nil
}

func (t *target) create(ctx context.Context, name string, description json.RawMessage) (*stream, error) {
	var c jetstream.StreamConfig
	if err := exactjson.Unmarshal(description, &c); err != nil || c.Name != name {
		return nil, fmt.Errorf("%w: the description of %s is wrong", backup.ErrDamaged, name)
	}
	c.Replicas, c.Sealed, c.Placement = t.replicas, false, t.placement // the other cluster has other servers
	maps.DeleteFunc(c.Metadata, func(key, _ string) bool { return strings.HasPrefix(key, serverMetadata) })
	if t.mark != "" && name == firstStream {
		c.Metadata[streams.MetadataRestore] = t.mark
	}
	if err := jetapi.CreateStream(ctx, t.js, c); err != nil {
		return nil, fmt.Errorf("restore: create %s: %w", name, err)
	}
	if err := t.step("made " + name); err != nil {
		return nil, err
	}
	s := &stream{name: name, first: max(1, c.FirstSeq), next: max(1, c.FirstSeq), digest: sha256.New()}
	t.streams[name] = s
	return s, nil
}

// publish sends a message to a stream. The stream must give it its sequence.
func (t *target) publish(ctx context.Context, to *stream, m stored.Message) error {
	if m.Seq != to.next {
		return fmt.Errorf("%w: %s has no message at sequence %d", backup.ErrDamaged, to.name, to.next)
	}
	out := &nats.Msg{Subject: m.Subject, Data: append([]byte(nil), m.Body...)}
	if len(m.Header) > 0 {
		header, err := nats.DecodeHeadersMsg(m.Header)
		if err != nil {
			return fmt.Errorf("%w: the header of %s at sequence %d: %w", backup.ErrDamaged, to.name, m.Seq, err)
		}
		out.Header = header
	}
	if out.Header.Get(nats.ExpectedLastSubjSeqHdr) != "" { // several servers refuse it while a message of its subject is under way
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	ack, err := t.js.PublishMsgAsync(out)
	if err != nil {
		return fmt.Errorf("restore: %s at sequence %d: %w", to.name, m.Seq, err)
	}
	size := len(m.Body) + len(m.Header) + len(m.Subject)
	t.waiting, t.bytes = append(t.waiting, sent{to, m.Seq, size, ack}), t.bytes+size
	to.next++
	for len(t.waiting) > waitingMessages || t.bytes > waitingBytes {
		if err := t.acknowledged(ctx); err != nil {
			return err
		}
	}
	return nil
}

// keep publishes a message that stays.
func (t *target) keep(ctx context.Context, to *stream, m stored.Message) error {
	note(to.digest, m)
	to.stays++
	to.kept = m.Seq
	return t.publish(ctx, to, m)
}

// note adds a message to a digest. The order of header lines does not count: a client writes them
// in any order.
func note(digest hash.Hash, m stored.Message) {
	lines := bytes.Split(m.Header, []byte("\r\n"))
	slices.SortFunc(lines, bytes.Compare)
	b := binary.BigEndian.AppendUint64(nil, m.Seq)
	for _, part := range [][]byte{[]byte(m.Subject), bytes.Join(lines, []byte("\n")), m.Body} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		_, _ = digest.Write(b)
		_, _ = digest.Write(part)
		b = b[:0]
	}
}

// acknowledged waits for the oldest acknowledgement.
func (t *target) acknowledged(ctx context.Context) error {
	first := t.waiting[0]
	t.waiting, t.bytes = t.waiting[1:], t.bytes-first.bytes
	place := fmt.Sprintf("restore: %s at sequence %d", first.to.name, first.seq)
	select {
	case ack := <-first.ack.Ok():
		if ack.Stream != first.to.name || ack.Sequence != first.seq {
			return fmt.Errorf("%s: the server stored it in %s at %d", place, ack.Stream, ack.Sequence)
		}
		return nil
	case err := <-first.ack.Err():
		return fmt.Errorf("%s: %w", place, err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *target) flush(ctx context.Context) error {
	for len(t.waiting) > 0 {
		if err := t.acknowledged(ctx); err != nil {
			return err
		}
	}
	return nil
}

// purge deletes the fillers of a stream, and checks the rest.
func (t *target) purge(ctx context.Context, s *stream, subject string) error {
	there, err := t.js.Stream(ctx, s.name)
	if err == nil && s.fillers > 0 {
		err = there.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = there.Info(ctx)
	}
	if err != nil {
		return fmt.Errorf("restore: %s: %w", s.name, err)
	}
	if info.State.Msgs != s.stays || s.next > s.first && info.State.LastSeq != s.next-1 {
		return fmt.Errorf("restore: %s holds %d messages up to %d instead of %d up to %d", s.name, info.State.Msgs, info.State.LastSeq, s.stays, s.next-1)
	}
	return nil
}
