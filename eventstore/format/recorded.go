package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"payledger/eventstore/codec"
)

// Hash is a link of an aggregate's hash chain, or of a shard's groups. The hash before the first is all zero.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Recorded is one event as it stands in the log.
type Recorded struct {
	Key
	Shard         int
	Seq           uint64 // address in the shard; see At
	Number        uint64 // place among the shard's events, from 1, without a gap
	Revision      uint64 // place among the aggregate's events, from 1, without a gap
	PrevSeq       uint64 // address of the aggregate's previous event; 0 for the first
	Type          string
	Schema        int
	EventID       string
	CommandID     string
	CorrelationID string
	Actor         string
	Time          time.Time
	Hash          Hash
	Body          []byte // msgpack map {"event", "state"}, and "left" if parts left the state

	event, state any  // the values that Body was made from, if this process made it; never changed
	ends         bool // the event is the last of its group
}

// EndsGroup reports whether the event is the last of its group.
func (r *Recorded) EndsGroup() bool { return r.ends }

// State returns the state that the body was made from, or nil if the body was read from the log.
func (r *Recorded) State() any { return r.state }

// WithState returns a copy of the event that has its decoded state.
func (r *Recorded) WithState(state any) *Recorded {
	c := *r
	c.state = state
	return &c
}

// Size estimates the memory that the event takes, in bytes. A decoded state is about as large as its bytes.
func (r *Recorded) Size() int {
	n := RecordedSize + len(r.Body) + len(r.EventID) + len(r.CommandID) + len(r.CorrelationID) + len(r.Actor) + len(r.ID)
	if r.state != nil {
		n += len(r.Body)
	}
	return n + r.Weight()
}

// heavyFrom is the memory, in bytes, from which parts that left a state are kept only in the cache of newest events.
const heavyFrom = 4 << 10

// Light returns the event, without its decoded state if the parts that left the state take heavyFrom or more.
func (r *Recorded) Light() *Recorded {
	if r.Weight() < heavyFrom {
		return r
	}
	return r.Fresh()
}

// Fresh returns the event without the decoded event and state, as another process reads it.
func (r *Recorded) Fresh() *Recorded {
	c := *r
	c.event, c.state = nil, nil
	return &c
}

// RecordedSize is the size of a Recorded and of its place in a map, without the contents of its strings and slices.
const RecordedSize = 480

// Owned returns the event with a body of its own, if it shares the memory of its group.
func (r *Recorded) Owned() *Recorded {
	if r.state != nil {
		return r
	}
	c := *r
	c.Body = bytes.Clone(r.Body)
	return &c
}

// keys of the body, as msgpack strings (I2).
const (
	bodyHead     = "\x82\xa5event" // a map of two, the first key
	BodyHeadLeft = "\x83\xa5event" // a map of three
	bodyStateKey = "\xa5state"
	bodyLeftKey  = "\xa4left"
)

// StateBytes returns the encoded state: a part of the body, not a copy.
func (r *Recorded) StateBytes() ([]byte, error) {
	state, _, err := r.Parts()
	return state, err
}

// Parts returns the encoded state and the encoded parts that left it; left is nil if none left.
func (r *Recorded) Parts() (state, left []byte, err error) {
	_, state, left, err = r.parts()
	return state, left, err
}

func (r *Recorded) parts() (event, state, left []byte, err error) {
	rest, ok := bytes.CutPrefix(r.Body, []byte(bodyHead))
	leaves := false
	if !ok {
		rest, leaves = bytes.CutPrefix(r.Body, []byte(BodyHeadLeft))
	}
	cut := func(key string) (value []byte) {
		after, found := bytes.CutPrefix(rest, []byte(key))
		n, wrong := codec.Length(after)
		if !found || wrong != nil {
			err = codec.ErrMalformed
			return nil
		}
		value, rest = after[:n:n], after[n:]
		return value
	}
	event = cut("")
	state = cut(bodyStateKey)
	if leaves {
		left = cut(bodyLeftKey)
	}
	if err != nil || len(rest) > 0 || !ok && !leaves {
		return nil, nil, nil, fmt.Errorf("eventstore: body of %s revision %d: %w", r.Key, r.Revision, codec.ErrMalformed)
	}
	return event, state, left, nil
}

// Bodies returns the encoded event and the encoded state: parts of the body, not copies, if the body is as this log writes it.
func Bodies(r *Recorded) (event, state []byte, err error) {
	if event, state, _, err = r.parts(); err == nil {
		return event, state, nil
	}
	var raw body
	if err := codec.Unmarshal(r.Body, &raw); err != nil {
		return nil, nil, fmt.Errorf("eventstore: body of %s revision %d: %w", r.Key, r.Revision, err)
	}
	return raw.Event, raw.State, nil
}

// marshalBody is marshal of the map {"event", "state"}, with "left" unless that is nil.
func marshalBody(event, state, left any) ([]byte, error) {
	b := codec.TakeBuffer()
	defer codec.ReturnBuffer(b)
	if left == nil {
		b.WriteString(bodyHead)
	} else {
		b.WriteString(BodyHeadLeft)
	}
	err := codec.MarshalTo(b, event)
	b.WriteString(bodyStateKey)
	if err == nil {
		err = codec.MarshalTo(b, state)
	}
	if err == nil && left != nil {
		b.WriteString(bodyLeftKey)
		err = codec.MarshalTo(b, left)
	}
	return bytes.Clone(b.Bytes()), err
}
