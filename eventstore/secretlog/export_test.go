package secretlog

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/folder"
)

// OnStep makes the stream call f after each step of a destruction.
func (b *Stream) OnStep(f func(step string)) { b.stepped = f }

// Silence makes a look at each block due.
func (b *Stream) Silence() { b.index.Guard = folder.NewGuard(b.Folder, b.API.Patience(), time.Now) }

// LookAlways makes each request look at its blocks.
func (b *Stream) LookAlways() {
	var looks atomic.Int64
	b.index.Guard = folder.NewGuard(b.Folder, b.API.Patience(), func() time.Time {
		return time.Unix(0, 0).Add(time.Duration(looks.Add(1)) * folder.Fresh)
	})
}

// Steps are the steps of a destruction, in their order.
var Steps = []string{stepRecorded, stepSynced, stepDestroyed}

// SwapEntries swaps the index entries of two names.
func (b *Stream) SwapEntries(one, other string) error {
	first, err := b.index.entry(one)
	if err != nil {
		return err
	}
	second, err := b.index.entry(other)
	if err != nil {
		return err
	}
	return b.index.write(map[string][]byte{
		nameKey(one): second.encode(), nameKey(other): first.encode(),
	})
}

// EraseBehind deletes a value without recording its destruction.
func (b *Stream) EraseBehind(ctx context.Context, name string) error {
	e, err := b.index.entry(name)
	if err != nil {
		return err
	}
	return b.delete(ctx, e.seq, true)
}

// RecordDestruction performs only the first step of Destroy.
func (b *Stream) RecordDestruction(ctx context.Context, name string) error {
	e, err := b.index.find(ctx, name)
	if err == nil {
		_, err = b.put(ctx, destroyedTopic, newDestruction(name, "", []uint64{e.seq}))
	}
	return err
}

// Parse decodes a message of SECRETS.
func Parse(seq uint64, body []byte) (kind byte, name, group string, value []byte, ended []uint64, err error) {
	r, err := parse(seq, body)
	return r.kind, r.name, r.group, r.value, r.ended, err
}

// Encode encodes a message of SECRETS.
func Encode(kind byte, name, group string, value []byte, ended []uint64) []byte {
	if kind == kindDestruction {
		return newDestruction(name, group, ended).body
	}
	return newValue(name, value).body
}

// PutIn stores a value of a group without checking whether the name has a value.
func (b *Stream) PutIn(ctx context.Context, group, name string) error {
	_, err := b.put(ctx, groupTopic+group, newValue(name, []byte("x")))
	return err
}

// EncodeGeneration encodes a message of SECRETS that names a generation.
func EncodeGeneration(kind byte, generation, replaced uint64, name string, value []byte) []byte {
	switch kind {
	case kindLater:
		return newValueOf(generation, name, value).body
	case kindResealed:
		return newResealed(generation, name, replaced, value).body
	default:
		return newGeneration(generation, value).body
	}
}

// EncodeDropped encodes a message of SECRETS that drops segments.
func EncodeDropped(segment uint32, through, generation uint64) []byte {
	return newDropped(segment, through, generation).body
}

// Rotate begins a generation, and seals all values anew.
func (b *Stream) Rotate(ctx context.Context, stepped func(step string)) (int, error) {
	before, _ := b.Generation()
	if err := b.Begin(ctx, before, []byte("proof")); err != nil {
		return 0, err
	}
	reach(stepped, "the generation has begun")
	return b.Resume(ctx, stepped)
}

// Resume completes the rotation of the generation in force.
func (b *Stream) Resume(ctx context.Context, stepped func(step string)) (int, error) {
	generation, _ := b.Generation()
	return b.Reseal(ctx, Resealing{
		Generation: generation, Stepped: stepped, Skip: func(name string) bool { return strings.HasPrefix(name, "card.") },
		Seal: func(name string, value []byte) (group string, changed []byte, err error) {
			if parts := strings.Split(name, "."); parts[0] == "card" {
				group = parts[0] + "." + parts[1]
			}
			return group, value, nil
		},
	})
}

// SendUnread stores a value whose writer ends before it has read the value back.
func (b *Stream) SendUnread(ctx context.Context, name string, value []byte) error {
	generation, _ := b.Generation()
	_, err := b.send(ctx, valueTopic, newValueOf(generation, name, value))
	return err
}

// Retry stores a value again after a failure.
func (b *Stream) Retry(ctx context.Context, name string, value []byte) error {
	generation, _ := b.Generation()
	return b.store(ctx, valueTopic, newValueOf(generation, name, value), true)
}

// Roll begins the next segment.
func (b *Stream) Roll() { b.roll() }

// DestroyedUnread begins a generation, and destroys a name by a node that has not read its value. A
// value sealed anew comes late. Then the value is named and deleted.
func (b *Stream) DestroyedUnread(ctx context.Context, name string, value []byte) error {
	e, err := b.index.find(ctx, name)
	if err == nil {
		err = b.Begin(ctx, 0, []byte("proof"))
	}
	generation, _ := b.Generation()
	if err == nil {
		_, err = b.put(ctx, destroyedTopic, newDestruction(name, "", nil))
	}
	if err == nil {
		_, err = b.put(ctx, valueTopic, newResealed(generation, name, e.seq, value))
	}
	if err == nil {
		_, err = b.put(ctx, destroyedTopic, newDestruction("", "", []uint64{e.seq}))
	}
	if err != nil {
		return err
	}
	return b.delete(ctx, e.seq, true)
}

// Spend seals a value anew for a generation that it begins, destroys the name by its sequence, and
// sends the value sealed anew once more.
func (b *Stream) Spend(ctx context.Context, name string, value []byte) error {
	e, err := b.index.find(ctx, name)
	if err == nil {
		err = b.Begin(ctx, 0, []byte("proof"))
	}
	generation, _ := b.Generation()
	resealed, seq := newResealed(generation, name, e.seq, value), uint64(0)
	if err == nil {
		seq, err = b.put(ctx, valueTopic, resealed)
	}
	if err == nil {
		err = b.finishOf(ctx, []string{name})
	}
	if err == nil {
		_, err = b.destroy(ctx, "", "", []uint64{seq})
	}
	if err == nil {
		_, err = b.put(ctx, valueTopic, resealed)
	}
	return err
}

// CheckReplicas is a first look.
func CheckReplicas(info *jetstream.StreamInfo) error { return replicated(info, map[string]bool{}) }

// ReplaceHalf seals a value anew for a generation that it begins. The value has a duplicate. Of
// both, which a message names, only the value is deleted, as a crash in the middle leaves them.
func (b *Stream) ReplaceHalf(ctx context.Context, name string, value []byte) error {
	e, err := b.index.find(ctx, name)
	if err != nil {
		return err
	}
	duplicate, err := b.put(ctx, valueTopic, newValue(name, []byte("another value")))
	if err == nil {
		err = b.Begin(ctx, 0, []byte("proof"))
	}
	generation, _ := b.Generation()
	if err == nil {
		_, err = b.put(ctx, valueTopic, newResealed(generation, name, e.seq, value))
	}
	if err == nil {
		_, err = b.put(ctx, destroyedTopic, newDestruction("", "", []uint64{e.seq, duplicate}))
	}
	if err != nil {
		return err
	}
	return b.delete(ctx, e.seq, true)
}

// MissAgain determines why a message is missing, as if a page had not had it.
func (b *Stream) MissAgain(ctx context.Context, seq uint64) error {
	b.index.mu.Lock()
	b.index.gaps.Add(seq)
	b.index.mu.Unlock()
	return b.index.catchUp(ctx, 0)
}
