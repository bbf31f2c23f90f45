package secretlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/eventstore/jetapi"
	"payledger/eventstore/sidelog"
	"payledger/eventstore/workers"
)

// A rotation of the master key of a data folder writes every value anew into a segment of its own. One message decides:
//
//  1. The segment is made. It begins with the rotation, which destroys all messages before it; the values follow. None of this counts:
//     after a crash the next start ignores the segment, and removes it.
//  2. The message of completeTopic is durable, and the segment counts. After a crash the next start takes it.
//  3. The next start deletes the segments before it. Their files are removed as a whole.

const (
	rotationTopic = "rotation"
	completeTopic = "complete"
)

// Steps of a rotation, for tests that crash after each.
const (
	stepAside    = "the segment is made"
	stepBegun    = "the rotation is written"
	stepResealed = "the values are written"
	stepKept     = "the new key is kept"
	stepDecided  = "the segment counts"
)

// ErrUndecided means that it is not known whether a rotation took place. The next start shows it.
var ErrUndecided = errors.New("it is not known whether the rotation took place")

const (
	// writers is the number of values that are written at the same moment.
	writers = 32
	// decideTimeout bounds the publishes of the message that decides.
	decideTimeout = 30 * time.Second
)

// Rotation is how a rotation changes the values.
type Rotation struct {
	// Reseal returns a value as it is to be stored, and its group; "" if it has none. It is called from several goroutines.
	Reseal func(name string, value []byte) (group string, changed []byte, err error)
	// More are further values, by name.
	More map[string][]byte
	// Keep is called when all values are written, before the rotation is decided.
	Keep func() error
	// Stepped, if set, is called after each step (tests that crash there).
	Stepped func(step string)
}

// Rotate writes all values anew, and replaces the stream. No other process may use the stream. After an error nothing was changed, unless
// it is ErrUndecided. After success the stream must be opened anew. It returns the number of values.
func (b *Stream) Rotate(ctx context.Context, r Rotation) (count int, err error) {
	if err := b.Room(); err != nil {
		return 0, err
	}
	names, err := b.Names(ctx, "") // it also completes destructions that were begun
	if err != nil {
		return 0, err
	}
	b.gate.Lock() // no other message is written
	defer b.gate.Unlock()
	applied, _ := b.index.place()
	g, err := b.log.Aside(ctx, applied, map[string]string{rotationMark: "1"})
	if err == nil {
		reach(r.Stepped, stepAside)
		count, err = b.writeAside(ctx, g, names, r)
	}
	if err == nil {
		err = r.Keep()
	}
	if err == nil {
		reach(r.Stepped, stepKept)
		err = b.Room()
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jetapi.ReadTimeout)
		defer cancel()
		return 0, errors.Join(err, b.log.Drop(ctx, g))
	}
	if err := b.decide(ctx, g); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUndecided, err)
	}
	reach(r.Stepped, stepDecided)
	return count, nil
}

// writeAside writes the rotation and all values into a segment that does not count yet.
func (b *Stream) writeAside(ctx context.Context, g sidelog.Segment, names []string, r Rotation) (int, error) {
	seq, err := b.sendTo(ctx, g, rotationTopic, record{kind: kindRotation, body: appendText([]byte(magic+"\x02"), "")})
	if err != nil {
		return 0, err
	}
	if seq != g.First {
		return 0, fmt.Errorf("eventstore: %s begins at %d instead of %d", g.Stream, seq, g.First)
	}
	reach(r.Stepped, stepBegun)
	err = inParallel(ctx, names, func(ctx context.Context, name string) error {
		if r.More[name] != nil {
			return nil
		}
		return b.reseal(ctx, g, name, r)
	})
	for name, value := range r.More {
		if err == nil {
			_, err = b.sendTo(ctx, g, valueTopic, newValue(name, value))
		}
	}
	if err != nil {
		return 0, err
	}
	reach(r.Stepped, stepResealed)
	return len(names), nil
}

// inParallel calls do with each name, from several goroutines. The first error ends the context of the other calls, and is returned.
func inParallel(ctx context.Context, names []string, do func(ctx context.Context, name string) error) error {
	return workers.Pool(ctx, writers, func(_ context.Context, submit func(string) error) error {
		for _, name := range names {
			if err := submit(name); err != nil {
				return err
			}
		}
		return nil
	}, do)
}

func (b *Stream) reseal(ctx context.Context, g sidelog.Segment, name string, r Rotation) error {
	value, err := b.Get(ctx, name)
	if err != nil {
		return err
	}
	group, changed, err := r.Reseal(name, value)
	if err != nil {
		return err
	}
	topic := valueTopic
	if group != "" {
		topic = groupTopic + group
	}
	_, err = b.sendTo(ctx, g, topic, newValue(name, changed))
	return err
}

// sendTo publishes a message to a segment that takes no messages of the stream.
func (b *Stream) sendTo(ctx context.Context, g sidelog.Segment, topic string, r record) (uint64, error) {
	m := nats.NewMsg(g.Subject(topic))
	m.Data = r.body
	ack, err := b.API.Publish(ctx, m)
	if err == nil && ack.Error != nil {
		err = ack.Error
	}
	if err != nil {
		return 0, fmt.Errorf("eventstore: %s: %w", g.Stream, err)
	}
	return ack.Seq, nil
}

// decide makes the segment count: the commit point of a rotation. It repeats the message until it is acknowledged.
func (b *Stream) decide(ctx context.Context, g sidelog.Segment) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideTimeout)
	defer cancel()
	for {
		_, err := b.sendTo(ctx, g, completeTopic, newDestruction("", "", nil))
		if err == nil || jetapi.Pause(ctx, createPause) != nil {
			return err
		}
	}
}

// replacedAtOnce is the number of keys of the index that one batch deletes.
const replacedAtOnce = 10_000

// replace removes the index of all messages before a rotation. The caller holds the lock.
func (x *index) replace(r record) error {
	witnesses, prefixes := map[string][]byte{}, [][]byte{sidelog.Key(sidelog.NamePrefix, sidelog.SecretStream, "")}
	if len(x.generations) > 0 { // the values after it name none
		x.generations, x.proof = nil, nil
		prefixes = append(prefixes, sidelog.Key(sidelog.SpentPrefix, sidelog.SecretStream, ""), sidelog.Key(sidelog.EndedPrefix, sidelog.SecretStream, ""), sidelog.Key(sidelog.GenerationKey, sidelog.SecretStream, ""))
	}
	for number := uint32(1); number < x.log.Of(r.seq).Number; number++ {
		stream := sidelog.Name(sidelog.SecretStream, number)
		prefixes = append(prefixes, sidelog.RecordsOf(stream), sidelog.Key(sidelog.DyingPrefix, stream, ""))
		witnesses[string(sidelog.WitnessKey(stream))] = nil
		if x.overlay == nil {
			x.Index.Forget(stream)
		}
	}
	for _, prefix := range prefixes {
		if err := x.remove(prefix); err != nil {
			return err
		}
	}
	for seq := range r.destroyed() {
		x.gaps.Remove(seq)
	}
	return x.write(witnesses)
}

var errPage = errors.New("eventstore: the page is full")

func (x *index) remove(prefix []byte) error {
	for {
		change := map[string][]byte{}
		err := x.Tips.Each(prefix, func(key, _ []byte) error {
			if len(change) == replacedAtOnce && x.overlay == nil {
				return errPage
			}
			change[string(key)] = nil
			return nil
		})
		full := errors.Is(err, errPage)
		if err != nil && !full {
			return err
		}
		if err := x.write(change); err != nil || !full {
			return err
		}
	}
}
