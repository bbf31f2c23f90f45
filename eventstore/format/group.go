package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"payledger/eventstore/codec"
)

// A group is one message of the log: the frames of the events that were appended together (package
// comment of eventstore, Byte layout).

// ErrGroup means that a message is not a group of this log, or is damaged.
var ErrGroup = errors.New("eventstore: malformed group")

// Kind is the purpose of a group.
type Kind byte

const (
	KindEvents  Kind = 0 // one or more events
	KindEmpty   Kind = 1 // no event: its acknowledgement covers all groups before it
	KindClosing Kind = 2 // no event: the last group of its segment
)

const (
	groupMagic = "PLJ1"
	// GroupTrailer is the size of the check at the end, in bytes.
	GroupTrailer = 8
	// MaxGroupBytes closes a group: no frame is added past it. A larger frame goes alone.
	MaxGroupBytes = 64 << 10
	// MaxRecordBytes is MaxGroupBytes for the records beside the log, whose groups are rarely read
	// for one record, and for all groups on replicas, where a group is a round of Raft.
	MaxRecordBytes = 256 << 10
	// MaxFrameBytes bounds the size of the frames of a group before compression.
	MaxFrameBytes = 8 << 20
	// NoShard stands for no witness.
	NoShard = 0xffff
)

// LogID identifies one log. It is random.
type LogID [16]byte

// Link names a group by its sequence and its hash.
type Link struct {
	Seq  uint64
	Hash Hash
}

// Head is the end of a shard: its last group, and the counts up to it.
type Head struct {
	Link
	Events     uint64 // number of events
	Aggregates uint64 // number of aggregates
	Last       uint64 // address of the newest event; 0 when there is none
}

// Group is one decoded message.
type Group struct {
	Kind       Kind
	Shard      int
	Log        LogID
	Seq        uint64
	Before     Hash // of the group before
	Events     uint64
	Aggregates uint64
	Witness    Witness
	Ends       Ends
	Frames     []*Recorded
	Next       uint32 // closing: the number of the segment that follows
	Hash       Hash
	Size       int // bytes of the frames before compression
	Held       int // roughly its bytes in memory; set by Light
	Stored     int // bytes of its message; set by ParseGroup
	Writer     Writer
}

// Writer is what the NATS header of a group's message says about its writer. It is no part of the
// group: no hash covers it, and nothing that a log proves depends on it. Package ownership has the
// rules.
type Writer struct {
	Node    string // of a cluster; "": a process that takes no requests
	Visitor bool   // the group is empty, and its writer is not the owner of the shard by it
	Next    string // the next owner of the shard; "": the writer stays it
}

// Witness names the newest acknowledged group of a shard, which is often another one; doc.go of
// eventstore has the rules.
type Witness struct {
	Shard int // NoShard: none
	Link
}

// Ends are the newest acknowledged messages of CHECKPOINTS and SECRETS, by their sequences, as
// the group's writer knows them. A log whose CHECKPOINTS or SECRETS end before them has lost the
// end of that stream, also without the tip store. The zero value names none.
type Ends struct {
	Checkpoints, Secrets uint64
}

// After returns the end of the shard with the group appended to h.
func (g *Group) After(h Head) Head {
	h.Link = Link{g.Seq, g.Hash}
	for i, r := range g.Frames {
		h.Events++
		if r.Revision == 1 {
			h.Aggregates++
		}
		h.Last = At(g.Seq, i)
	}
	return h
}

// Follows checks that the group follows h: its sequence, hash and counts.
func (g *Group) Follows(h Head) error {
	switch {
	case g.Seq != h.Seq+1:
		return fmt.Errorf("group %d follows group %d", g.Seq, h.Seq)
	case g.Before != h.Hash:
		return fmt.Errorf("group %d names another group before it", g.Seq)
	case g.Events != h.Events || g.Aggregates != h.Aggregates:
		return fmt.Errorf("group %d counts %d events and %d aggregates before it; there are %d and %d", g.Seq, g.Events, g.Aggregates, h.Events, h.Aggregates)
	}
	return nil
}

// Place sets the place of each frame: shard, address and number.
func (g *Group) Place() {
	for i, r := range g.Frames {
		r.Shard, r.Seq, r.Number, r.ends = g.Shard, At(g.Seq, i), g.Events+uint64(i)+1, i == len(g.Frames)-1
	}
}

// frameText is enough for a frame without its body, in bytes; a longer one is copied once more.
const frameText = 2 << 10

// Encode returns the group's message and sets its hash.
func (g *Group) Encode() []byte {
	frames := codec.TakeBuffer()
	defer codec.ReturnBuffer(frames)
	for _, r := range g.Frames {
		frames.Grow(len(r.Body) + frameText)
		frames.Write(r.AppendFrame(frames.AvailableBuffer()))
	}
	if g.Kind == KindClosing {
		frames.Write(binary.BigEndian.AppendUint32(frames.AvailableBuffer(), g.Next))
	}
	g.Size = frames.Len()
	b := make([]byte, FixedHeader, FixedHeader+WitnessBytes+EndsBytes+frames.Len()/2+GroupTrailer)
	copy(b, groupMagic)
	b[4] = byte(g.Kind)
	binary.BigEndian.PutUint16(b[6:], uint16(len(g.Frames)))
	binary.BigEndian.PutUint32(b[8:], uint32(frames.Len()))
	binary.BigEndian.PutUint16(b[12:], uint16(g.Shard))
	copy(b[14:], g.Log[:])
	binary.BigEndian.PutUint64(b[30:], g.Seq)
	binary.BigEndian.PutUint64(b[38:], g.Events)
	binary.BigEndian.PutUint64(b[46:], g.Aggregates)
	copy(b[54:], g.Before[:])
	if g.Witness.Shard != NoShard {
		b[4] |= HasWitness
		b = binary.BigEndian.AppendUint16(b, uint16(g.Witness.Shard))
		b = binary.BigEndian.AppendUint64(b, g.Witness.Seq)
		b = append(b, g.Witness.Hash[:]...)
	}
	if g.Ends != (Ends{}) {
		b[4] |= HasEnds
		b = binary.BigEndian.AppendUint64(b, g.Ends.Checkpoints)
		b = binary.BigEndian.AppendUint64(b, g.Ends.Secrets)
	}
	how, b := compress(b, frames.Bytes())
	b[5] = how
	g.Hash = sha256.Sum256(b)
	return append(b, g.Hash[:GroupTrailer]...)
}

// CountFrames returns the number of events that a group's message claims to have; 0 if it is no
// group.
func CountFrames(data []byte) uint64 {
	if len(data) < FixedHeader+GroupTrailer || string(data[:4]) != groupMagic {
		return 0
	}
	return uint64(binary.BigEndian.Uint16(data[6:]))
}

// ParseGroup decodes a message. It checks the hash, the frames and their addresses.
func ParseGroup(data []byte) (*Group, error) {
	g, rest, err := ParseGroupHeader(data)
	if err != nil {
		return nil, err
	}
	g.Stored = len(data)
	g.Hash = sha256.Sum256(data[:len(data)-GroupTrailer])
	if !bytes.Equal(g.Hash[:GroupTrailer], data[len(data)-GroupTrailer:]) {
		return nil, fmt.Errorf("%w: its check is wrong", ErrGroup)
	}
	if data[4]&HasWitness != 0 && g.Witness.Shard == NoShard || data[4]&HasEnds != 0 && g.Ends == (Ends{}) {
		return nil, fmt.Errorf("%w: its witness names no shard, or its ends of CHECKPOINTS and SECRETS are 0", ErrGroup)
	}
	if g.Size > MaxFrameBytes || g.Seq >= 1<<(64-frameBits) {
		return nil, fmt.Errorf("%w: it claims %d bytes at %d", ErrGroup, g.Size, g.Seq)
	}
	frames, err := decompress(data[5], rest, g.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGroup, err)
	}
	return g, g.parseFrames(frames, int(binary.BigEndian.Uint16(data[6:])))
}

// ParseGroupAt is ParseGroup for the message at a place: it must be the group of that place.
func ParseGroupAt(shard int, seq uint64, data []byte) (*Group, error) {
	g, err := ParseGroup(data)
	if err == nil && (g.Seq != seq || g.Shard != shard) {
		err = fmt.Errorf("%w: it is group %d of shard %d", ErrGroup, g.Seq, g.Shard)
	}
	return g, err
}

func (g *Group) parseFrames(rest []byte, count int) error {
	fits := g.Kind == KindEvents && count > 0 && count <= MaxFrames || g.Kind == KindEmpty && count == 0 ||
		g.Kind == KindClosing && count == 0 && len(rest) == 4
	if !fits {
		return fmt.Errorf("%w: kind %d with %d frames", ErrGroup, g.Kind, count)
	}
	if g.Kind == KindClosing {
		g.Next = binary.BigEndian.Uint32(rest)
		return nil
	}
	g.Frames = make([]*Recorded, 0, count)
	for range count {
		var r *Recorded
		var err error
		if r, rest, err = ParseFrame(rest); err != nil {
			return err
		}
		g.Frames = append(g.Frames, r)
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %d bytes after its last frame", ErrGroup, len(rest))
	}
	g.Place()
	for _, r := range g.Frames {
		if r.PrevSeq >= r.Seq || r.Revision == 1 != (r.PrevSeq == 0) {
			return fmt.Errorf("%w: an event before revision %d stands at %d", ErrGroup, r.Revision, r.PrevSeq)
		}
	}
	return nil
}

// Light returns the group with light events and with its memory in Held. Only the cache of newest
// events keeps large parts moved out of states, within its bound.
func (g *Group) Light() *Group {
	c := *g
	c.Held = g.Size
	if slices.ContainsFunc(g.Frames, func(r *Recorded) bool { return r.Weight() >= heavyFrom }) {
		c.Frames = make([]*Recorded, 0, len(g.Frames))
		for _, r := range g.Frames {
			c.Frames = append(c.Frames, r.Light())
		}
	}
	for _, r := range c.Frames {
		c.Held += r.Weight()
	}
	return &c
}
