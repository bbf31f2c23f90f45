package eventstore

import (
	"context"

	"payledger/eventstore/checkpoint"
	"payledger/eventstore/sidelog"
)

// OnStep has f called after each step of a destruction.
func (s *Store) OnStep(f func(step string)) { s.stepped = f }

// Steps are those of a destruction, in their order.
var Steps = []string{stepRecorded, stepSynced, stepDestroyed}

// SwapEntries has the index say of two names that each stands where the other does.
func (b *SecretBytes) SwapEntries(one, other string) error {
	first, _, err := b.index.entry(one)
	if err != nil {
		return err
	}
	second, _, err := b.index.entry(other)
	if err != nil {
		return err
	}
	return b.index.write(map[string][]byte{
		string(sidelog.Key(sidelog.NamePrefix, sidelog.SecretStream, one)): second.Encode(), string(sidelog.Key(sidelog.NamePrefix, sidelog.SecretStream, other)): first.Encode(),
	})
}

// EraseBehind deletes a value as nobody may: no message says so.
func (b *SecretBytes) EraseBehind(ctx context.Context, name string) error {
	e, _, err := b.index.entry(name)
	if err != nil {
		return err
	}
	return b.erase(ctx, e.Seq)
}

// RecordDestruction is the first step of Destroy alone.
func (b *SecretBytes) RecordDestruction(ctx context.Context, name string) error {
	e, err := b.index.find(ctx, name)
	if err == nil {
		_, err = b.put(ctx, secretEnds, destroyedRecord(name, "", []uint64{e.Seq}))
	}
	return err
}

// Segments returns how many streams the secrets stand in.
func (b *SecretBytes) Segments() int { return len(b.log.All()) }

// CheckpointSegments returns how many streams the checkpoints stand in.
func (s *Store) CheckpointSegments() int { return len(s.checkpoints.All()) }

// ParseSecret reads a message of SECRETS.
func ParseSecret(seq uint64, body []byte) (kind byte, name, group string, value []byte, ended []uint64, err error) {
	r, err := parseSecret(seq, body)
	return r.kind, r.name, r.group, r.value, r.ended, err
}

// EncodeSecret writes one.
func EncodeSecret(kind byte, name, group string, value []byte, ended []uint64) []byte {
	if kind == secretDestroyed {
		return destroyedRecord(name, group, ended).body
	}
	return valueRecord(name, value).body
}

// PutCheckpointAfter writes a checkpoint as it is behind another one, and returns its number.
func (s *Store) PutCheckpointAfter(ctx context.Context, c checkpoint.Checkpoint, after uint64) (uint64, error) {
	return s.putCheckpoint(ctx, c, after, after%edgeEvery == 0)
}
