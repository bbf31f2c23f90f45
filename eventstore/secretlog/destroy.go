package secretlog

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"payledger/eventstore/fault"
	"payledger/eventstore/folder"
	"payledger/eventstore/jetapi"
	"payledger/eventstore/streams"
)

// Steps of a destruction (package eventstore, Secrets), for tests that crash after each.
const (
	stepRecorded  = "destruction recorded"
	stepSynced    = "destruction synced"
	stepDestroyed = "values destroyed"
)

// reach reports to a test, if there is one, which step has just ended.
func reach(stepped func(step string), name string) {
	if stepped != nil {
		stepped(name)
	}
}

// purgedAtOnce is the number of sequences that one message names.
const purgedAtOnce = 100_000

// Destroy records the destruction of values with one message, and overwrites the values on the
// disk. A name without a value is not an error. After an error each value may be destroyed or not:
// a repeat is safe.
func (b *Stream) Destroy(ctx context.Context, names ...string) error { return b.end(ctx, "", names) }

// Remove is Destroy for values whose encryption key is destroyed. Their bytes may stay on the disk,
// so no file is written anew for each.
func (b *Stream) Remove(ctx context.Context, names ...string) error {
	return b.end(ctx, removedGroup, names)
}

// removedGroup is the group of a destruction whose values have no encryption key any more. It is no
// group of values.
const removedGroup = "removed"

func (b *Stream) end(ctx context.Context, group string, names []string) (err error) {
	var ended []uint64
	for _, name := range names {
		e, err := b.index.find(ctx, name)
		if errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		ended = append(ended, e.seq)
	}
	if len(ended) > 0 {
		// If a crash left a replaced value without its replacement, a node without an index would
		// take it for the value.
		if generation, _ := b.Generation(); generation > 0 {
			if err := b.finishOf(ctx, names); err != nil {
				return err
			}
		}
		name := ""
		if len(names) == 1 {
			name = names[0]
		}
		last, err := b.destroyAll(ctx, name, group, ended)
		if err == nil {
			err = b.destroyReplacing(ctx, names, last)
		}
		if err != nil {
			return err
		}
	}
	// Another node may have created a new value of a name, which this process had not read.
	return b.finishOf(ctx, names)
}

// finishOf completes the destructions of values of some names that have begun.
func (b *Stream) finishOf(ctx context.Context, names []string) error {
	return b.finishSome(ctx, func(of string) bool { return slices.Contains(names, of) })
}

// destroyReplacing destroys the values of names that were sealed anew after Destroy had read the
// earlier ones, and before a sequence.
func (b *Stream) destroyReplacing(ctx context.Context, names []string, through uint64) error {
	for _, name := range names {
		e, err := b.index.entry(name)
		if err == nil && e.stands() && e.seq < through {
			_, err = b.destroy(ctx, name, "", []uint64{e.seq})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Purge deletes the values of a group up to a sequence. Their bytes may stay on the disk: a caller
// purges only values whose encryption key is destroyed.
func (b *Stream) Purge(ctx context.Context, group string, through uint64) error {
	if err := b.index.refresh(ctx); err != nil {
		return fmt.Errorf("eventstore: secrets: %w", err)
	}
	// The purge also deletes surplus values, which a destruction must name first.
	if err := b.finishSome(ctx, func(name string) bool { return strings.HasPrefix(name, group+".") }); err != nil {
		return err
	}
	all, err := b.index.under(nameKey(group + "."))
	if err != nil {
		return err
	}
	var ended []uint64
	for _, value := range all {
		if seq := parseEntry(value).seq; seq <= through {
			ended = append(ended, seq)
		}
	}
	if len(ended) > 0 {
		_, err = b.destroyAll(ctx, "", group, ended)
	}
	return err
}

// destroyAll is destroy for any number of values.
func (b *Stream) destroyAll(ctx context.Context, name, group string, ended []uint64) (last uint64, err error) {
	if err := b.Room(); err != nil {
		return 0, err
	}
	slices.Sort(ended)
	for part := range slices.Chunk(slices.Compact(ended), purgedAtOnce) {
		if last, err = b.destroy(ctx, name, group, part); err != nil {
			break
		}
	}
	return last, err
}

// destroy destroys the values at some sequences. It returns the sequence of the message that names
// them.
func (b *Stream) destroy(ctx context.Context, name, group string, ended []uint64) (uint64, error) {
	seq, err := b.put(ctx, destroyedTopic, newDestruction(name, group, ended))
	if err != nil {
		return 0, fmt.Errorf("eventstore: destroy secret: %w", err)
	}
	reach(b.stepped, stepRecorded)
	ends := map[uint64]string{}
	for _, seq := range ended {
		ends[seq] = group
	}
	return seq, b.carryOut(ctx, ends)
}

// carryOut deletes values that a durable message names, and removes them from the index. ends maps
// each sequence to its group.
func (b *Stream) carryOut(ctx context.Context, ends map[uint64]string) error {
	if err := b.Tips.Flush(); err != nil { // else the next start would report the deleted values as missing
		return err
	}
	reach(b.stepped, stepSynced)
	grouped := map[string][]uint64{}
	for seq, group := range ends {
		if group != "" && group != removedGroup {
			grouped[group] = append(grouped[group], seq)
			continue
		}
		if err := b.delete(ctx, seq, group == ""); err != nil {
			return err
		}
	}
	for group, ended := range grouped {
		if err := b.purge(ctx, group, ended); err != nil {
			return err
		}
	}
	reach(b.stepped, stepDestroyed)
	change := map[string][]byte{}
	for seq := range ends {
		change[b.index.recordKey(seq)], change[b.index.dyingKey(seq)] = nil, nil
	}
	b.index.mu.Lock()
	defer b.index.mu.Unlock()
	return b.index.write(change)
}

// delete makes the server remove one value; with overwrite, no program can read its bytes
// afterwards.
func (b *Stream) delete(ctx context.Context, seq uint64, overwrite bool) error {
	g := b.segments.of(seq)
	err := b.index.mayUse(ctx, g, folder.Span{From: seq, Through: seq, Appends: true})
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("eventstore: destroy secret: %w", err)
	}
	stream := g.Name()
	err = b.API.Change(ctx, "MSG.DELETE", stream, map[string]any{"seq": seq, "no_erase": !overwrite})
	if err == nil {
		return nil
	}
	if _, readErr := b.API.AtLeader(ctx, stream, jetapi.Get{Seq: seq}); errors.Is(readErr, fault.ErrNotFound) {
		return nil // deleted by another node, or by this call although its answer was lost
	}
	return fmt.Errorf("eventstore: destroy secret: %w", err)
}

// purge makes the server delete values of a group, and the group's values before them. The server
// may read each block of their segments.
func (b *Stream) purge(ctx context.Context, group string, ended []uint64) error {
	last := slices.Max(ended)
	for _, g := range b.segments.all() {
		if !slices.ContainsFunc(ended, func(seq uint64) bool { return g.First <= seq && (g.Last == 0 || seq <= g.Last) }) {
			continue
		}
		_, acked := b.index.place()
		err := b.index.mayUse(ctx, g, folder.Span{From: g.First, Through: cmp.Or(g.Last, acked), Appends: true})
		if errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("eventstore: purge secrets: %w", err)
		}
		subject := subjectOf(g, groupTopic+group)
		if _, err := b.API.AtLeader(ctx, g.Name(), jetapi.Get{LastBySubject: subject}); errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err := b.API.Change(ctx, "PURGE", g.Name(), map[string]any{"filter": subject, "seq": last + 1}); err != nil {
			return fmt.Errorf("eventstore: purge secrets: %w", err)
		}
	}
	return nil
}

// finish completes the destructions that have begun, by the index. On a full disk they wait. A
// surplus value in a segment that is to be dropped waits for that.
func (b *Stream) finish(ctx context.Context) error {
	err := b.finishSome(ctx, nil)
	if errors.Is(err, fault.ErrFull) {
		err = nil
	}
	return err
}

// finishSome completes the destructions that have begun for the wanted names; nil: those that do
// not wait for a drop. A full disk is an error.
func (b *Stream) finishSome(ctx context.Context, want func(name string) bool) error {
	found, err := b.index.under(string(dyingPrefix) + streams.Secrets + "_")
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
		if want == nil && value[8] == endSurplus && !b.index.begun(b.segments.of(seq).Number) {
			continue
		}
		b.index.mu.Lock()
		record, err := b.index.value(b.index.recordKey(seq))
		b.index.mu.Unlock()
		if err != nil {
			return err
		}
		if len(record) < len(digest{}) || want != nil && !want(string(record[len(digest{}):])) {
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
	if err := b.Room(); err != nil {
		return err
	}
	if len(surplus) > 0 {
		slices.Sort(surplus)
		if _, err := b.put(ctx, destroyedTopic, newDestruction("", "", surplus)); err != nil {
			return fmt.Errorf("eventstore: destroy secret: %w", err)
		}
	}
	return b.carryOut(ctx, ends)
}
