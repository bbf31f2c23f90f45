package eventstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// A group is one message of the log: the frames of the events that were appended together.
// doc.go describes the bytes.

// errGroup means that a message is not a group of this log, or is damaged.
var errGroup = errors.New("eventstore: malformed group")

// groupKind says what a group is for.
type groupKind byte

const (
	groupEvents  groupKind = 0 // one or more events
	groupFence   groupKind = 1 // no event: its acknowledgement covers all groups before it
	groupClosing groupKind = 2 // no event: the last group of its segment
)

const (
	groupMagic = "PLJ1"
	// groupHeader is the size of a group's header, in bytes; witnessHeader that of a witness behind it, groupTrailer that
	// of the check at the end.
	groupHeader   = 86
	witnessHeader = 42
	groupTrailer  = 8
	// hasWitness is added to the kind of a group that names a witness.
	hasWitness = 0x80
	// maxGroupBytes closes a group: no frame is added past it. A larger frame goes alone.
	maxGroupBytes = 64 << 10
	// maxRecordBytes is maxGroupBytes of deliveries: their records are rarely read from their groups, and many come at once.
	maxRecordBytes = 256 << 10
	// maxFrameBytes bounds what a group may claim to hold before compression.
	maxFrameBytes = 8 << 20
	// noShard stands for no witness.
	noShard = 0xffff
)

// LogID identifies one log. It is random.
type LogID [16]byte

// link names a group by its sequence and its hash.
type groupLink struct {
	Seq  uint64
	Hash Hash
}

// head is the end of a shard: its last group, and what the shard holds up to it.
type head struct {
	groupLink
	Events     uint64 // number of events
	Aggregates uint64 // number of aggregates
	Last       uint64 // address of the newest event; 0 when there is none
}

// group is one decoded message.
type group struct {
	kind    groupKind
	shard   int
	log     LogID
	seq     uint64
	before  Hash // of the group before
	events  uint64
	aggs    uint64
	witness witness
	frames  []*Recorded
	next    uint32 // closing: the number of the segment that follows
	hash    Hash
	size    int // bytes of the frames before compression
	held    int // about the bytes of memory that it takes; see light
}

// witness names the newest acknowledged group of the next shard.
type witness struct {
	Shard int // noShard: none
	groupLink
}

// after returns the end of the shard once the group stands on it.
func (g *group) after(h head) head {
	h.groupLink = groupLink{g.seq, g.hash}
	for i, r := range g.frames {
		h.Events++
		if r.Revision == 1 {
			h.Aggregates++
		}
		h.Last = At(g.seq, i)
	}
	return h
}

// follows checks that the group stands on h: right place, hash and counts.
func (g *group) follows(h head) error {
	switch {
	case g.seq != h.Seq+1:
		return fmt.Errorf("group %d follows group %d", g.seq, h.Seq)
	case g.before != h.Hash:
		return fmt.Errorf("group %d names another group before it", g.seq)
	case g.events != h.Events || g.aggs != h.Aggregates:
		return fmt.Errorf("group %d counts %d events and %d aggregates before it; there are %d and %d", g.seq, g.events, g.aggs, h.Events, h.Aggregates)
	}
	return nil
}

// place sets where each frame stands.
func (g *group) place() {
	for i, r := range g.frames {
		r.Shard, r.Seq, r.Number, r.ends = g.shard, At(g.seq, i), g.events+uint64(i)+1, i == len(g.frames)-1
	}
}

// encode returns the group's message and sets its hash.
func (g *group) encode() []byte {
	frames := takeScratch()
	defer giveBack(frames)
	for _, r := range g.frames {
		frames.Write(r.appendFrame(frames.AvailableBuffer()))
	}
	if g.kind == groupClosing {
		frames.Write(binary.BigEndian.AppendUint32(frames.AvailableBuffer(), g.next))
	}
	g.size = frames.Len()
	b := make([]byte, groupHeader, groupHeader+witnessHeader+frames.Len()/2+groupTrailer)
	copy(b, groupMagic)
	b[4] = byte(g.kind)
	binary.BigEndian.PutUint16(b[6:], uint16(len(g.frames)))
	binary.BigEndian.PutUint32(b[8:], uint32(frames.Len()))
	binary.BigEndian.PutUint16(b[12:], uint16(g.shard))
	copy(b[14:], g.log[:])
	binary.BigEndian.PutUint64(b[30:], g.seq)
	binary.BigEndian.PutUint64(b[38:], g.events)
	binary.BigEndian.PutUint64(b[46:], g.aggs)
	copy(b[54:], g.before[:])
	if g.witness.Shard != noShard {
		b[4] |= hasWitness
		b = binary.BigEndian.AppendUint16(b, uint16(g.witness.Shard))
		b = binary.BigEndian.AppendUint64(b, g.witness.Seq)
		b = append(b, g.witness.Hash[:]...)
	}
	how, b := compress(b, frames.Bytes())
	b[5] = how
	g.hash = sha256.Sum256(b)
	return append(b, g.hash[:groupTrailer]...)
}

// parseGroupHeader reads what a group says of itself, and checks nothing else. rest is what stands behind the header.
func parseGroupHeader(data []byte) (g *group, rest []byte, err error) {
	if len(data) < groupHeader+groupTrailer || string(data[:4]) != groupMagic {
		return nil, nil, fmt.Errorf("%w: %d bytes", errGroup, len(data))
	}
	g = &group{
		kind: groupKind(data[4] &^ hasWitness), shard: int(binary.BigEndian.Uint16(data[12:])), log: LogID(data[14:30]),
		seq: binary.BigEndian.Uint64(data[30:]), events: binary.BigEndian.Uint64(data[38:]), aggs: binary.BigEndian.Uint64(data[46:]),
		before: Hash(data[54:86]), size: int(binary.BigEndian.Uint32(data[8:])), witness: witness{Shard: noShard},
	}
	rest = data[groupHeader : len(data)-groupTrailer]
	if data[4]&hasWitness == 0 {
		return g, rest, nil
	}
	if len(rest) < witnessHeader {
		return nil, nil, fmt.Errorf("%w: its witness is cut off", errGroup)
	}
	g.witness = witness{int(binary.BigEndian.Uint16(rest)), groupLink{Seq: binary.BigEndian.Uint64(rest[2:]), Hash: Hash(rest[10:42])}}
	return g, rest[witnessHeader:], nil
}

// parseGroup reads a message back. Its own hash, its framing and the place it claims are checked.
func parseGroup(data []byte) (*group, error) {
	g, rest, err := parseGroupHeader(data)
	if err != nil {
		return nil, err
	}
	g.hash = sha256.Sum256(data[:len(data)-groupTrailer])
	if !bytes.Equal(g.hash[:groupTrailer], data[len(data)-groupTrailer:]) {
		return nil, fmt.Errorf("%w: its check is wrong", errGroup)
	}
	if g.size > maxFrameBytes || g.seq >= 1<<(64-frameBits) {
		return nil, fmt.Errorf("%w: it claims %d bytes at %d", errGroup, g.size, g.seq)
	}
	frames, err := decompress(data[5], rest, g.size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGroup, err)
	}
	return g, g.parseFrames(frames, int(binary.BigEndian.Uint16(data[6:])))
}

func (g *group) parseFrames(rest []byte, count int) error {
	fits := g.kind == groupEvents && count > 0 && count <= maxFrames || g.kind == groupFence && count == 0 ||
		g.kind == groupClosing && count == 0 && len(rest) == 4
	if !fits {
		return fmt.Errorf("%w: kind %d with %d frames", errGroup, g.kind, count)
	}
	if g.kind == groupClosing {
		g.next = binary.BigEndian.Uint32(rest)
		return nil
	}
	g.frames = make([]*Recorded, 0, count)
	for range count {
		var r *Recorded
		var err error
		if r, rest, err = parseFrame(rest); err != nil {
			return err
		}
		g.frames = append(g.frames, r)
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %d bytes after its last frame", errGroup, len(rest))
	}
	g.place()
	for _, r := range g.frames {
		if r.PrevSeq >= r.Seq || r.Revision == 1 != (r.PrevSeq == 0) {
			return fmt.Errorf("%w: an event before revision %d stands at %d", errGroup, r.Revision, r.PrevSeq)
		}
	}
	return nil
}

// Decode returns the events of one message of the log, in their order, for readers of the log's own streams. A message
// without events, a fence or the last of a segment, gives none.
func Decode(message []byte) ([]*Recorded, error) {
	g, err := parseGroup(message)
	if err != nil {
		return nil, err
	}
	return g.frames, nil
}
