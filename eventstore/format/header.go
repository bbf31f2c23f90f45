package format

import (
	"encoding/binary"
	"fmt"
)

// The header of a group is everything before the frames: a fixed part, and the optional fields
// whose bits are set in the byte of the kind. "Header" means nothing else here: the header of the
// message that holds the group is always called its NATS header.
const (
	// FixedHeader is the size of the fixed part, in bytes.
	FixedHeader = 86
	// WitnessBytes is the size of the witness, the first optional field.
	WitnessBytes = 42
	// EndsBytes is the size of the ends of CHECKPOINTS and SECRETS, the second one.
	EndsBytes = 16
	// HasWitness is the bit of the witness.
	HasWitness = 0x80
	// HasEnds is the bit of the ends of CHECKPOINTS and SECRETS.
	HasEnds = 0x40

	kindBits = 0x03 // of the byte of the kind
)

// HeaderLevel is the level of the header that this build reads and writes. A level adds optional
// fields. An older build refuses a group with a field of a later level, and stops the shard: so a
// process leaves such a field out while a live node reads an earlier level only (Limit).
const HeaderLevel = 1

// levels are the first levels of the optional fields, by their bits.
var levels = map[byte]int{HasWitness: 1, HasEnds: 1}

// LevelOf returns the first level with the optional field of a bit; 0: there is no such field.
func LevelOf(bit byte) int { return levels[bit] }

// Limit leaves out the optional fields that came after a level of the header.
func (g *Group) Limit(level int) {
	if levels[HasWitness] > level {
		g.Witness = Witness{Shard: NoShard}
	}
	if levels[HasEnds] > level {
		g.Ends = Ends{}
	}
}

// ParseGroupHeader reads the header of a group, and checks nothing else: a start reads groups with
// it, and would refuse what it refuses. rest is the bytes after the header.
func ParseGroupHeader(data []byte) (g *Group, rest []byte, err error) {
	if len(data) < FixedHeader+GroupTrailer || string(data[:4]) != groupMagic {
		return nil, nil, fmt.Errorf("%w: %d bytes", ErrGroup, len(data))
	}
	if unknown := data[4] &^ (HasWitness | HasEnds | kindBits); unknown != 0 {
		return nil, nil, fmt.Errorf("%w: bit %#x of its header is unknown; a newer version may have written it", ErrGroup, unknown)
	}
	g = &Group{
		Kind: Kind(data[4] &^ (HasWitness | HasEnds)), Shard: int(binary.BigEndian.Uint16(data[12:])), Log: LogID(data[14:30]),
		Seq: binary.BigEndian.Uint64(data[30:]), Events: binary.BigEndian.Uint64(data[38:]), Aggregates: binary.BigEndian.Uint64(data[46:]),
		Before: Hash(data[54:86]), Size: int(binary.BigEndian.Uint32(data[8:])), Witness: Witness{Shard: NoShard},
	}
	rest = data[FixedHeader : len(data)-GroupTrailer]
	if data[4]&HasWitness != 0 {
		if len(rest) < WitnessBytes {
			return nil, nil, fmt.Errorf("%w: its witness is cut off", ErrGroup)
		}
		g.Witness = Witness{int(binary.BigEndian.Uint16(rest)), Link{Seq: binary.BigEndian.Uint64(rest[2:]), Hash: Hash(rest[10:42])}}
		rest = rest[WitnessBytes:]
	}
	if data[4]&HasEnds != 0 {
		if len(rest) < EndsBytes {
			return nil, nil, fmt.Errorf("%w: its ends of CHECKPOINTS and SECRETS are cut off", ErrGroup)
		}
		g.Ends = Ends{Checkpoints: binary.BigEndian.Uint64(rest), Secrets: binary.BigEndian.Uint64(rest[8:])}
		rest = rest[EndsBytes:]
	}
	return g, rest, nil
}
