package streams

import (
	"fmt"
	"time"

	"payledger/eventstore/codec"
	"payledger/eventstore/format"
)

const floorSchema = 1

// Floor is the end of the dropped segments of a shard. The zero value means that none was dropped.
type Floor struct {
	Schema  int       `json:"schema"`
	Segment uint32    `json:"segment"` // number of the newest dropped segment
	Seq     uint64    `json:"seq"`     // of its last group
	Hash    []byte    `json:"hash"`    // of that group
	Records uint64    `json:"records"` // number of records up to it
	Names   uint64    `json:"names"`   // number of names up to it
	Newest  time.Time `json:"newest"`  // time of the newest record up to it
	Log     []uint64  `json:"log"`     // per shard of the log: events up to this address plan nothing
}

// Covers reports whether the record at a place was dropped.
func (f Floor) Covers(place uint64) bool { return format.GroupOf(place) <= f.Seq }

// Body returns the body of the record of a floor.
func (f Floor) Body() ([]byte, error) {
	f.Schema = floorSchema
	return codec.Marshal(f)
}

// FloorIn returns the floor in a frame. It returns the zero value for a frame of another key.
func (k *Kind) FloorIn(r *format.Recorded) (Floor, error) {
	var f Floor
	if !k.Drops() || r.Key != k.Floor {
		return f, nil
	}
	err := codec.Unmarshal(r.Body, &f)
	switch {
	case err != nil:
	case f.Schema > floorSchema:
		err = fmt.Errorf("%w: schema %d, known is %d", format.ErrNewerSchema, f.Schema, floorSchema)
	case len(f.Hash) != len(format.Hash{}) || f.Seq == 0 || f.Segment == 0:
		err = codec.ErrMalformed
	}
	if err != nil {
		return Floor{}, fmt.Errorf("the record of the dropped segments at %d.%d: %w", format.GroupOf(r.Seq), format.FrameOf(r.Seq), err)
	}
	return f, nil
}
