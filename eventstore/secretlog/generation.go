package secretlog

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"payledger/eventstore/due"
	"payledger/eventstore/fault"
	"payledger/eventstore/streams"
	"payledger/eventstore/workers"
)

// A generation is the time between two rotations of the master key. It is named by the sequence of
// the message that began it; the first generation is 0. The order of the stream decides everything:
//
//  1. A message of generationTopic begins a generation, if it names the generation in force. Of two
//     rotations at the same moment the second one names a generation that is over, and is void.
//  2. A value counts if it names the generation in force at its place in the stream. So no node,
//     however late, adds a value that is sealed with the old key: such a value is surplus, and its
//     writer seals it again.
//  3. A value sealed anew replaces the value that it names, unless this one is spent: destroyed in
//     this generation, by its sequence or by its name, or replaced. The replaced value is surplus
//     then, and spent. Nothing else counts: a reader may find the replaced value deleted already,
//     and a duplicate of it not.
//  4. When the value sealed anew is acknowledged, a destruction names the replaced one, and the
//     server deletes it. A replaced value in a segment that ended before the generation began stays
//     until the segment is dropped as a whole (drop.go).
//
// After a crash at any place every value stands once, under the old key or under the new one.

const generationTopic = "generation"

// ErrGeneration means that a value, or a rotation, names a generation that is over.
var ErrGeneration = errors.New("the master key was rotated meanwhile")

const (
	// resealedAtOnce is the number of values after which the replaced ones are destroyed.
	resealedAtOnce = 1000
	// writers is the number of values that are written at the same moment.
	writers = 32
)

func (x *index) loadGenerations() error {
	stored, err := x.value(generationKey())
	if err != nil || len(stored) < 8 {
		return err
	}
	n := binary.BigEndian.Uint64(stored)
	stored = stored[8:]
	for ; n > 0 && len(stored) >= 8; n-- {
		x.generations = append(x.generations, binary.BigEndian.Uint64(stored))
		stored = stored[8:]
	}
	x.proof = slices.Clone(stored)
	return nil
}

// generationAt returns the generation in force before a sequence. The caller holds the lock.
func (x *index) generationAt(seq uint64) uint64 {
	i, _ := slices.BinarySearch(x.generations, seq)
	if i == 0 {
		return 0
	}
	return x.generations[i-1]
}

// begin writes the changes of a message, and the beginning of its generation if that is the newest.
// The caller holds the lock.
func (x *index) begin(r record, change map[string][]byte) error {
	newest := x.generationAt(1<<64 - 1)
	if r.seq <= newest || r.generation != newest {
		return x.write(change)
	}
	if x.onGeneration != nil {
		if err := x.onGeneration(r.value); err != nil {
			x.Fail(err, true)
			return err
		}
	}
	x.generations, x.proof = append(x.generations, r.seq), slices.Clone(r.value)
	stored := binary.BigEndian.AppendUint64(nil, uint64(len(x.generations)))
	for _, seq := range x.generations {
		stored = binary.BigEndian.AppendUint64(stored, seq)
	}
	change[generationKey()] = append(stored, r.value...)
	return x.write(change)
}

// counts reports whether a value counts, given the value of its name, and adds the changes to the
// replaced one. The caller holds the lock.
func (x *index) counts(r record, entered entry, change map[string][]byte) (bool, error) {
	switch {
	case entered.seq == r.seq: // it is entered again
		return true, nil
	case r.generation != x.generationAt(r.seq):
		return false, nil
	case r.kind != kindResealed:
		return !entered.stands(), nil
	case entered.seq > r.seq: // a replica lacked it, and a later one replaced it
		return false, nil
	case r.replaced <= x.floor.through && r.seq > x.floor.seq: // every value there was replaced or destroyed before the drop
		return false, nil
	}
	// The replaced value stood at this place, unless it is spent. It may be deleted already: then
	// nothing is known, or another value of the name that was surplus when it was written.
	key := spentKey(r.replaced)
	spent, err := x.value(key)
	if err != nil || spent != nil {
		return false, err
	}
	ended, err := x.value(endedKey(r.name))
	if err != nil || len(ended) == 8 && binary.BigEndian.Uint64(ended) > r.replaced {
		return false, err
	}
	change[key] = []byte{1}
	for _, seq := range slices.Compact([]uint64{r.replaced, entered.seq}) {
		old, err := x.value(x.recordKey(seq))
		if err != nil {
			return false, err
		}
		if old != nil {
			x.mustEnd(change, seq, endSurplus)
		}
	}
	return true, nil
}

// Generation returns the newest generation that this process has read, and its proof.
func (b *Stream) Generation() (generation uint64, proof []byte) {
	b.index.mu.Lock()
	defer b.index.mu.Unlock()
	return b.index.generationAt(1<<64 - 1), b.index.proof
}

// Settle reads the stream up to its end, and waits for the answers to the values that this process
// writes. After that it writes no value of an earlier generation. Settle returns the newest
// generation. A value whose answer was lost may still be on its way.
func (b *Stream) Settle(ctx context.Context) (generation uint64, err error) {
	if err := b.index.refresh(ctx); err != nil {
		return 0, err
	}
	b.gate.Lock()
	defer b.gate.Unlock()
	generation, _ = b.Generation()
	return generation, nil
}

// OnGeneration registers accept. It is called with the proof of each generation that begins from
// now on. An error stops this process. accept must not block.
func (b *Stream) OnGeneration(accept func(proof []byte) error) {
	b.index.mu.Lock()
	defer b.index.mu.Unlock()
	b.index.onGeneration = accept
}

// Begin begins a generation after another one; with one process, in a new segment. It returns
// ErrGeneration if another rotation was faster. After another error it is not known whether the
// generation has begun.
func (b *Stream) Begin(ctx context.Context, before uint64, proof []byte) error {
	if err := b.Room(); err != nil {
		return err
	}
	if err := b.cut(ctx); err != nil {
		return err
	}
	seq, err := b.put(ctx, generationTopic, newGeneration(before, proof))
	if err != nil {
		return fmt.Errorf("eventstore: %s: %w", streams.Secrets, err)
	}
	if now, _ := b.Generation(); now != seq {
		return ErrGeneration
	}
	return nil
}

// cut begins a segment for the values of a generation, so that the segments before it can be
// dropped. Several processes share one segment.
func (b *Stream) cut(ctx context.Context) error {
	b.gate.Lock()
	defer b.gate.Unlock()
	switch {
	case !b.Sole:
		return nil
	case b.before < b.failed:
		return fmt.Errorf("%w: %s: the answer to a message was lost", fault.ErrRefused, streams.Secrets)
	default:
		return b.begin(ctx, 0)
	}
}

// Resealing is how a rotation seals values anew.
type Resealing struct {
	Generation uint64
	// Skip reports whether a value does not depend on the master key. It is copied only if its
	// segment is to be dropped.
	Skip func(name string) bool
	// Seal returns a value as it is to be stored in the generation, and its group; "" if it has
	// none. It is called from several goroutines.
	Seal func(name string, value []byte) (group string, changed []byte, err error)
	// Stepped, if set, is called after each step (tests that crash there).
	Stepped func(step string)
}

// Steps of a resealing, for tests that crash after each.
const (
	stepReplaced = "values are sealed anew"
	stepOverOld  = "the replaced values are destroyed"
	stepDropped  = "the drop of the earlier segments is recorded"
	stepSwept    = "the earlier segments are deleted"
)

// Reseal seals all values of earlier generations anew, and destroys the earlier ones. Nodes may use
// the stream meanwhile. Reseal may be interrupted and repeated. It returns the number of values.
func (b *Stream) Reseal(ctx context.Context, r Resealing) (count int, err error) {
	for {
		if err := b.index.refresh(ctx); err != nil {
			return count, err
		}
		values, err := b.earlier(r, true)
		if err != nil {
			return count, err
		}
		for part := range slices.Chunk(values, resealedAtOnce) {
			err := b.Room()
			if err == nil {
				err = b.resealAll(ctx, part, r)
			}
			if err != nil {
				return count, err
			}
			count += len(part)
			reach(r.Stepped, stepReplaced)
			if err := b.finishSome(ctx, nil); err != nil {
				return count, err
			}
			reach(r.Stepped, stepOverOld)
		}
		if len(values) > 0 {
			continue
		}
		if err := b.finishSome(ctx, nil); err != nil { // an earlier run may have left replaced values
			return count, err
		}
		return count, b.dropEarlier(ctx, r)
	}
}

// Earlier calls use with one value of a generation before the one in force. It does nothing if
// there is none. skip is Resealing.Skip.
func (b *Stream) Earlier(ctx context.Context, skip func(name string) bool, use func(name string, value []byte) error) error {
	generation, _ := b.Generation()
	values, err := b.earlier(Resealing{Generation: generation, Skip: skip}, false)
	for _, v := range values {
		value, err := b.index.read(ctx, v.name, v.entry)
		if errors.Is(err, fault.ErrNotFound) || errors.Is(err, errRecord) { // it is destroyed or replaced meanwhile
			continue
		}
		if err == nil {
			err = use(v.name, value)
		}
		return err
	}
	return err
}

// earlierValue is a value of an earlier generation.
type earlierValue struct {
	name  string
	entry entry
}

// earlier returns the values of earlier generations in their order. copied includes those that are
// only copied.
func (b *Stream) earlier(r Resealing, copied bool) (values []earlierValue, err error) {
	begun := b.segments.of(r.Generation).Number
	all, err := b.index.under(nameKey(""))
	for name, value := range all {
		e := parseEntry(value)
		if e.seq < r.Generation && (!r.Skip(name) || copied && b.segments.of(e.seq).Number < begun) {
			values = append(values, earlierValue{name, e})
		}
	}
	slices.SortFunc(values, func(a, b earlierValue) int { return cmp.Compare(a.entry.seq, b.entry.seq) })
	return values, err
}

// resealAll seals values anew. The index is brought up to the messages once, at the end.
func (b *Stream) resealAll(ctx context.Context, values []earlierValue, r Resealing) error {
	var last atomic.Uint64
	err := workers.Pool(ctx, writers, func(_ context.Context, submit func(earlierValue) error) error {
		for _, v := range values {
			if err := submit(v); err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context, v earlierValue) error {
		seq, err := b.resealOne(ctx, v, r)
		raise(&last, seq)
		return err
	})
	if entered := b.entered(ctx, last.Load()); err == nil {
		err = entered
	}
	if now, _ := b.Generation(); err == nil && now != r.Generation {
		err = ErrGeneration
	}
	return err
}

// resealOne seals one value anew, unless it is destroyed or replaced meanwhile. It repeats the
// message until it is acknowledged, and returns its sequence; 0 if there is none. Then the index
// may not have it yet.
func (b *Stream) resealOne(ctx context.Context, v earlierValue, r Resealing) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	for name, e := v.name, v.entry; ; {
		value, err := b.index.read(ctx, name, e)
		if err == nil {
			group, changed, sealErr := r.Seal(name, value)
			if sealErr != nil {
				return 0, sealErr
			}
			topic := valueTopic
			if group != "" {
				topic = groupTopic + group
			}
			var seq uint64
			if seq, err = b.send(ctx, topic, newResealed(r.Generation, name, e.seq, changed)); err == nil {
				return seq, nil
			}
		}
		if errors.Is(err, fault.ErrUnhealthy) || errors.Is(err, ErrGeneration) {
			return 0, err
		}
		if due.Rest(ctx, createPause, nil) != nil {
			kind, _, _ := strings.Cut(name, ".") // the rest may contain a session id
			return 0, fmt.Errorf("eventstore: secret of kind %s: %w", kind, err)
		}
		_ = b.index.refresh(ctx) // the message may be stored although its answer was lost; the next try shows an error
		if now, _ := b.Generation(); now != r.Generation {
			return 0, ErrGeneration
		}
		if e, err = b.index.entry(name); err != nil || !e.stands() || e.seq > r.Generation {
			return 0, err
		}
	}
}
