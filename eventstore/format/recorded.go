package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/eventstore/codec"
)

// Hash is a link of an aggregate's hash chain, or of a shard's groups. The hash before the first is
// all zero.
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
	Body          []byte // msgpack map {"event", "state"}, "left" if parts moved out of the state, and "origin" if it was recorded

	event domain.Event // the values that Body was made from, if this process made it; never changed
	state any
	read  *atomic.Pointer[any] // the state decoded from a body that was read, for all copies of the event; nil: each decodes it anew
	ends  bool                 // the event is the last of its group
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

// Size estimates the memory that the event takes, in bytes. A decoded state is about as large as
// its bytes, and counts also before it is decoded.
func (r *Recorded) Size() int {
	n := RecordedSize + len(r.Body) + len(r.EventID) + len(r.CommandID) + len(r.CorrelationID) + len(r.Actor) + len(r.ID)
	if r.state != nil || r.read != nil {
		n += len(r.Body)
	}
	return n + r.Weight()
}

// heavyFrom is the memory, in bytes, from which parts moved out of a state are kept only in the
// cache of newest events.
const heavyFrom = 4 << 10

// Light returns the event, without its decoded state if the parts moved out of the state take
// heavyFrom or more.
func (r *Recorded) Light() *Recorded {
	if r.Weight() < heavyFrom {
		return r
	}
	return r.Fresh()
}

// Fresh returns the event without the decoded event and state, as another process reads it.
func (r *Recorded) Fresh() *Recorded {
	c := *r
	c.event, c.state, c.read = nil, nil, nil
	return &c
}

// RecordedSize is the size of a Recorded and of its place in a map, without the contents of its
// strings and slices.
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
	bodyEventKey  = "\xa5event"
	bodyStateKey  = "\xa5state"
	bodyLeftKey   = "\xa4left"
	bodyOriginKey = "\xa6origin"

	maxOrigin = 64 // bytes

	bodyMap    = 0x80 // a map; the number of its keys is added
	bodyFewest = 2
	bodyMost   = 4
)

// Parts returns the encoded state and the encoded parts moved out of it, without a copy; left is
// nil if there are none.
func (r *Recorded) Parts() (state, left []byte, err error) {
	p, err := r.parts()
	return p.state, p.left, err
}

// HasMore reports whether the body may have more than "event" and "state". It is false for most
// events, and costs nothing.
func (r *Recorded) HasMore() bool { return len(r.Body) > 0 && r.Body[0] > bodyMap+bodyFewest }

// Origin returns the address from which a change came (D20); "" if the event has none.
func (r *Recorded) Origin() string {
	tail := r.Body[max(0, len(r.Body)-len(bodyOriginKey)-maxOrigin-2):] // a walk over the whole body takes longer
	if !r.HasMore() || !bytes.Contains(tail, []byte(bodyOriginKey)) {
		return ""
	}
	p, err := r.parts()
	if err != nil {
		return ""
	}
	return p.origin
}

type parts struct {
	event, state, left []byte // left is nil if no part moved out of the state
	origin             string
}

// parts cuts the body into its values, which share its memory.
func (r *Recorded) parts() (p parts, err error) {
	malformed := func() (parts, error) {
		return parts{}, fmt.Errorf("eventstore: body of %s revision %d: %w", r.Key, r.Revision, codec.ErrMalformed)
	}
	if len(r.Body) == 0 || r.Body[0] < bodyMap+bodyFewest || r.Body[0] > bodyMap+bodyMost {
		return malformed()
	}
	keys, rest := int(r.Body[0]-bodyMap), r.Body[1:]
	cut := func(key string) (value []byte) {
		after, found := bytes.CutPrefix(rest, []byte(key))
		n, wrong := codec.Length(after)
		if !found || wrong != nil {
			return nil
		}
		keys--
		value, rest = after[:n:n], after[n:]
		return value
	}
	p.event = cut(bodyEventKey)
	p.state = cut(bodyStateKey)
	p.left = cut(bodyLeftKey)
	if origin := cut(bodyOriginKey); origin != nil {
		text, _, err := codec.Next(origin)
		if err != nil || text.Kind != codec.Text || len(text.Data) == 0 || len(text.Data) > maxOrigin {
			return malformed()
		}
		p.origin = string(text.Data)
	}
	if p.event == nil || p.state == nil || keys != 0 || len(rest) > 0 {
		return malformed()
	}
	return p, nil
}

// Bodies returns the encoded event and the encoded state: parts of the body, not copies, if the
// body is as this log writes it.
func Bodies(r *Recorded) (event, state []byte, err error) {
	if p, err := r.parts(); err == nil {
		return p.event, p.state, nil
	}
	var raw body
	if err := codec.Unmarshal(r.Body, &raw); err != nil {
		return nil, nil, fmt.Errorf("eventstore: body of %s revision %d: %w", r.Key, r.Revision, err)
	}
	return raw.Event, raw.State, nil
}

// marshalBody is marshal of the map {"event", "state"}, with "left" unless that is nil, and
// "origin" unless that is empty.
func marshalBody(event, state, left any, origin string) ([]byte, error) {
	b := codec.TakeBuffer()
	defer codec.ReturnBuffer(b)
	head := byte(bodyMap + bodyFewest)
	if left != nil {
		head++
	}
	if origin != "" {
		head++
	}
	b.WriteByte(head)
	b.WriteString(bodyEventKey)
	err := codec.MarshalTo(b, event)
	b.WriteString(bodyStateKey)
	if err == nil {
		err = codec.MarshalTo(b, state)
	}
	if err == nil && left != nil {
		b.WriteString(bodyLeftKey)
		err = codec.MarshalTo(b, left)
	}
	if err == nil && origin != "" {
		b.WriteString(bodyOriginKey)
		err = codec.MarshalTo(b, domain.Beginning(origin, maxOrigin))
	}
	return bytes.Clone(b.Bytes()), err
}
