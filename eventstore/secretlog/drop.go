package secretlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
)

// A rotation replaces every value of the segments that ended before its generation began. These
// segments are dropped as a whole, so that a folder does not pay a deletion for each value. A crash
// may come between any two steps.
//
//  1. Every value of the segments is sealed anew, copied or destroyed, in acknowledged messages.
//  2. A message of droppedTopic is durable. It names the segments, and destroys all their messages.
//     From then on no reader needs them.
//  3. The index has the message, and no entry of the segments, and is synced.
//  4. The streams of the segments are deleted, the oldest first.
//
// A start continues at step 3 or 4. A missing segment that no such message names is damage.

const droppedTopic = "dropped"

// keysAtOnce is the number of keys of the index that one batch deletes.
const keysAtOnce = 10_000

func (x *index) loadFloor() error {
	stored, err := x.value(droppedKey())
	if err == nil {
		x.floor = storedFloor(stored)
	}
	return err
}

// storedFloor returns the drop that the tip store has under droppedKey; the zero value
// without one.
func storedFloor(stored []byte) record {
	if len(stored) < 8 {
		return record{}
	}
	r, err := parse(binary.BigEndian.Uint64(stored), slices.Clone(stored[8:]))
	if err != nil || r.kind != kindDropped {
		return record{}
	}
	return r
}

// droppedOn returns the number of the newest dropped segment. If the index does not know it, the
// messages on the server do. The index of the remaining messages begins with the generation in
// force at the end of the dropped segments.
func (x *index) droppedOn(ctx context.Context, infos []*jetstream.StreamInfo) (uint32, error) {
	if len(infos) == 0 || numberOf(infos[0].Config.Name) <= x.floor.dropped+1 {
		return x.floor.dropped, nil
	}
	floor, err := floorOn(ctx, x.API, lineOf(infos))
	if err == nil && len(x.generations) == 0 && floor.generation > 0 {
		x.generations = []uint64{floor.generation}
	}
	return floor.dropped, err
}

// floor returns the dropped part that the message names; the zero value for another message.
func (r record) floor() streams.Floor { return streams.Floor{Segment: r.dropped, Seq: r.through} }

// begun reports whether a segment belongs to the generation in force. An earlier segment is to be
// dropped.
func (x *index) begun(number uint32) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return number >= x.segments.of(x.generationAt(1<<64-1)).Number
}

// drop removes dropped segments from the index. The caller holds the lock.
func (x *index) drop(r record, change map[string][]byte) error {
	if r.through <= x.floor.through && r.seq != x.floor.seq { // another node was faster
		return x.write(change)
	}
	floor := append(binary.BigEndian.AppendUint64(nil, r.seq), r.body...)
	if err := x.write(map[string][]byte{droppedKey(): floor}); err != nil { // before an entry is removed
		return err
	}
	x.floor = r
	x.segments.change(func(all *streams.Line) { all.Forget(r.dropped) })
	all := func(string, []byte) bool { return true }
	for number := uint32(1); number <= r.dropped; number++ {
		stream := newSegment(number, 0).Name()
		if err := errors.Join(x.remove(string(key(recordPrefix, stream, "")), all), x.remove(string(key(dyingPrefix, stream, "")), all)); err != nil {
			return err
		}
	}
	// No message after the drop can replace a value of the dropped segments (counts).
	spent := string(key(spentPrefix, streams.Secrets, ""))
	err := x.remove(spent, func(seq string, _ []byte) bool { return binary.BigEndian.Uint64([]byte(seq)) <= r.through })
	if err == nil {
		err = x.remove(endedKey(""), func(_ string, value []byte) bool {
			return len(value) == 8 && binary.BigEndian.Uint64(value) <= r.through
		})
	}
	if err != nil {
		return err
	}
	for seq := range r.destroyed() {
		x.gaps.Remove(seq)
	}
	return x.write(change)
}

// remove deletes keys with a prefix from the index, given the rest of each key and its value. The
// caller holds the lock.
func (x *index) remove(prefix string, which func(rest string, value []byte) bool) error {
	found, err := x.rows(prefix)
	change := map[string][]byte{}
	for rest, value := range found {
		if err == nil && which(rest, value) {
			change[prefix+rest] = nil
		}
		if len(change) == keysAtOnce {
			err, change = x.write(change), map[string][]byte{}
		}
	}
	if err != nil {
		return err
	}
	return x.write(change)
}

// dropEarlier drops the segments before the generation in force in which no value counts.
func (b *Stream) dropEarlier(ctx context.Context, r Resealing) error {
	all, err := b.index.under(nameKey(""))
	if err != nil {
		return err
	}
	oldest := r.Generation
	for _, value := range all {
		oldest = min(oldest, parseEntry(value).seq)
	}
	kept := b.segments.of(oldest)
	if b.segments.all().Oldest().Number == kept.Number { // another run may have recorded the drop, and been cut before the deletion
		return b.sweep(ctx)
	}
	b.index.mu.Lock()
	generation := b.index.generationAt(kept.First)
	b.index.mu.Unlock()
	if _, err := b.put(ctx, droppedTopic, newDropped(kept.Number-1, kept.First-1, generation)); err != nil {
		return fmt.Errorf("eventstore: drop secrets: %w", err)
	}
	reach(r.Stepped, stepDropped)
	if err := b.sweep(ctx); err != nil {
		return err
	}
	reach(r.Stepped, stepSwept)
	return nil
}

// sweep deletes the dropped segments. Any node may call it, also repeatedly.
func (b *Stream) sweep(ctx context.Context) error {
	b.index.mu.Lock()
	floor := b.index.floor
	b.index.mu.Unlock()
	if floor.seq == 0 || b.ReadOnly {
		return nil
	}
	all, err := SegmentsOn(ctx, b.API)
	if err != nil {
		return err
	}
	kept := []string{}
	for _, g := range all {
		if g.Number > floor.dropped {
			kept = append(kept, g.Name())
		}
	}
	remains, err := folder.Remains(b.Folder, streams.SecretShard, floor.dropped)
	if err != nil || len(kept) == len(all) && len(remains) == 0 {
		return err
	}
	if err := b.secure(ctx, kept); err != nil {
		return err
	}
	for _, g := range all[:len(all)-len(kept)] {
		if err := jetapi.DeleteStream(ctx, b.API.JS, g.Name()); err != nil {
			return err
		}
	}
	return folder.Clean(b.Folder, streams.SecretShard, floor.dropped) // the server removes the files later, or a crash came between
}

// secure ensures that all messages of the kept segments are on the disk, and that the index knows
// the drop. The process that wrote the messages may have been killed before they were synced.
func (b *Stream) secure(ctx context.Context, kept []string) error {
	if err := b.Room(); err != nil {
		return err
	}
	_, err := b.put(ctx, destroyedTopic, newDestruction("", "", nil)) // makes all messages before it durable
	if err == nil {
		err = b.Tips.Flush()
	}
	if err == nil && b.Folder != "" {
		if err = folder.SyncStreams(b.Folder, kept); err != nil {
			err = fmt.Errorf("eventstore: the values under the new master key are not on the disk, so the old ones stay: %w", err)
		}
	}
	return err
}

// floorOn returns the newest drop on a server, given the segments; the zero value if there was
// none.
func floorOn(ctx context.Context, api *jetapi.Client, segments streams.Line) (floor record, err error) {
	for _, g := range slices.Backward(segments) {
		m, err := api.AtLeader(ctx, g.Name(), jetapi.Get{LastBySubject: subjectOf(g, droppedTopic)})
		if errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err == nil {
			if floor, err = parse(m.Seq, m.Body); err != nil {
				err = fault.Damage(g.Name(), m.Seq, err)
			}
		}
		return floor, err
	}
	return floor, nil
}

// newestOf returns the message that began the generation in force, given all generations and the
// newest drop; without a sequence in the first generation.
func newestOf(generations []record, floor record) record {
	newest := record{seq: floor.generation}
	for _, r := range generations {
		if r.seq > floor.through && r.generation == newest.seq {
			newest = r
		}
	}
	return newest
}
