package eventstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"payledger/eventstore/jetapi"
	"payledger/eventstore/sidelog"
)

// A destruction is three steps, and each may be the last before a crash: a message that names the sequences is durable, and
// so is the index that knows it; the values are deleted; the index forgets them. A start, and on other nodes the next
// cleaning, goes on from the index.

// Steps of a destruction, for tests that crash at each.
const (
	stepRecorded  = "destruction recorded"
	stepSynced    = "destruction synced"
	stepDestroyed = "values destroyed"
)

// step tells a test what was just done.
func (s *Store) step(name string) {
	if s.stepped != nil {
		s.stepped(name)
	}
}

// purgedAtOnce is how many sequences one message names.
const purgedAtOnce = 100_000

// Destroy overwrites a value on the disk. A value that does not exist is destroyed already. After an error the value may be
// destroyed or not: it is safe to repeat.
func (b *SecretBytes) Destroy(ctx context.Context, name string) error {
	e, err := b.index.find(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return b.finishName(ctx, name)
	}
	if err != nil {
		return err
	}
	if err := b.s.room(); err != nil {
		return err
	}
	if err := b.destroy(ctx, name, "", []uint64{e.Seq}); err != nil {
		return err
	}
	return b.finishName(ctx, name) // another node may have made it anew, after the value that was known here
}

// Purge forgets all values of a group. Their bytes may stay on the disk: only what is encrypted under a
// destroyed key is purged.
func (b *SecretBytes) Purge(ctx context.Context, group string) error {
	if err := b.index.refresh(ctx); err != nil {
		return fmt.Errorf("eventstore: secrets: %w", err)
	}
	if err := b.finish(ctx); err != nil { // a purge deletes surplus values too: a destruction must name them first
		return err
	}
	all, err := b.index.under(sidelog.Key(sidelog.NamePrefix, sidelog.SecretStream, group+"."))
	if err != nil || len(all) == 0 {
		return err
	}
	if err := b.s.room(); err != nil {
		return err
	}
	var ended []uint64
	for _, value := range all {
		ended = append(ended, sidelog.ParseEntry(value).Seq)
	}
	slices.Sort(ended)
	for part := range slices.Chunk(ended, purgedAtOnce) {
		if err := b.destroy(ctx, "", group, part); err != nil {
			return err
		}
	}
	return nil
}

// destroy destroys the values at some sequences.
func (b *SecretBytes) destroy(ctx context.Context, name, group string, ended []uint64) error {
	if _, err := b.put(ctx, secretEnds, destroyedRecord(name, group, ended)); err != nil {
		return fmt.Errorf("eventstore: destroy secret: %w", err)
	}
	b.s.step(stepRecorded)
	ends := map[uint64]string{}
	for _, seq := range ended {
		ends[seq] = group
	}
	return b.carryOut(ctx, ends)
}

// carryOut deletes values that a durable message names, each with its group, and takes them out of the index.
func (b *SecretBytes) carryOut(ctx context.Context, ends map[uint64]string) error {
	if err := b.index.sync(); err != nil { // else the next start would miss them
		return err
	}
	b.s.step(stepSynced)
	through := map[string]uint64{} // by group
	for seq, group := range ends {
		if group != "" {
			through[group] = max(through[group], seq)
			continue
		}
		if err := b.erase(ctx, seq); err != nil {
			return err
		}
	}
	for group, last := range through {
		if err := b.purge(ctx, group, last); err != nil {
			return err
		}
	}
	b.s.step(stepDestroyed)
	change := map[string][]byte{}
	for seq := range ends {
		stream := b.log.Of(seq).Stream
		change[string(sidelog.RecordKey(stream, seq))], change[string(sidelog.EndKey(stream, seq))] = nil, nil
	}
	b.index.mu.Lock()
	defer b.index.mu.Unlock()
	return b.index.write(change)
}

// erase has the server overwrite one value.
func (b *SecretBytes) erase(ctx context.Context, seq uint64) error {
	g := b.log.Of(seq)
	err := b.log.API.Change(ctx, "MSG.DELETE", g.Stream, map[string]any{"seq": seq})
	if err == nil {
		return nil
	}
	if _, readErr := b.log.API.AtLeader(ctx, g.Stream, jetapi.Get{Seq: seq}); errors.Is(readErr, ErrNotFound) {
		return nil // somebody else did, or we did and the answer was lost
	}
	return fmt.Errorf("eventstore: destroy secret: %w", err)
}

// purge has the server delete the values of a group up to a sequence.
func (b *SecretBytes) purge(ctx context.Context, group string, last uint64) error {
	for _, g := range b.log.All() {
		if g.First > last {
			break
		}
		subject := g.Subject(secretGroups + group)
		if _, err := b.log.API.AtLeader(ctx, g.Stream, jetapi.Get{LastBySubject: subject}); errors.Is(err, ErrNotFound) {
			continue
		}
		if err := b.log.API.Change(ctx, "PURGE", g.Stream, map[string]any{"filter": subject, "seq": last + 1}); err != nil {
			return fmt.Errorf("eventstore: purge secrets: %w", err)
		}
	}
	return nil
}

// finish ends the destructions that the index knows as begun. On a full disk they wait.
func (b *SecretBytes) finish(ctx context.Context) error {
	err := b.finishSome(ctx, func(string) bool { return true })
	if errors.Is(err, ErrFull) {
		err = nil
	}
	return err
}

// finishName ends a destruction of a name that was begun.
func (b *SecretBytes) finishName(ctx context.Context, name string) error {
	return b.finishSome(ctx, func(of string) bool { return of == name })
}

func (b *SecretBytes) finishSome(ctx context.Context, want func(name string) bool) error {
	found, err := b.index.under(append([]byte{sidelog.DyingPrefix}, sidelog.SecretStream+"_"...))
	if err != nil {
		return err
	}
	ends := map[uint64]string{}
	var surplus []uint64
	for _, value := range found {
		if len(value) < 9 {
			continue
		}
		seq := binary.BigEndian.Uint64(value)
		b.index.mu.Lock()
		record, err := b.index.value(sidelog.RecordKey(b.log.Of(seq).Stream, seq))
		b.index.mu.Unlock()
		if err != nil {
			return err
		}
		if len(record) < len(sidelog.Digest{}) || !want(string(record[len(sidelog.Digest{}):])) {
			continue
		}
		if ends[seq] = ""; value[8] == endGroup {
			ends[seq] = string(value[9:])
		}
		if value[8] == endSurplus {
			surplus = append(surplus, seq)
		}
	}
	if len(ends) == 0 {
		return nil
	}
	if err := b.s.room(); err != nil {
		return err
	}
	if len(surplus) > 0 {
		slices.Sort(surplus)
		if _, err := b.put(ctx, secretEnds, destroyedRecord("", "", surplus)); err != nil {
			return fmt.Errorf("eventstore: destroy secret: %w", err)
		}
	}
	return b.carryOut(ctx, ends)
}
