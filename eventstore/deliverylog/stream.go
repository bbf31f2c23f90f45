package deliverylog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore/fault"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

const putTimeout = 15 * time.Second

// Shard is the shard of the records, as package eventstore keeps it.
type Shard interface {
	// CatchUp returns when this process has all groups that any process appended before the call.
	CatchUp(ctx context.Context) error
	// End returns the last acknowledged group.
	End() format.Head
	// First returns the sequence of the first group that was not dropped.
	First() uint64
	Floor() streams.Floor
	// Segments returns the segments that were not removed, in their order.
	Segments() streams.Line
	// Tip returns the newest record of a key that this process has; nil if there is none, or it was
	// dropped.
	Tip(key format.Key) (*format.Recorded, error)
	// Snapshot returns the newest records of all keys; those that the tip store may lack only if
	// want returns true.
	Snapshot(want func(*format.Recorded) bool) (Snapshot, error)
	// Record returns the record at a place. ErrNotFound: there is none. ErrDropped: if there was
	// one, it was dropped.
	Record(ctx context.Context, place uint64) (*format.Recorded, error)
	// Group returns an acknowledged group. ErrDropped: it was dropped.
	Group(ctx context.Context, seq uint64) (*format.Group, error)
	// Groups calls each with groups from next on, up to end or later ones in memory. It returns the
	// sequence after them.
	Groups(ctx context.Context, next, end uint64, each func(*format.Group) error) (uint64, error)
	// Follow calls each with all groups from next on, until ctx ends or each returns an error. It
	// returns that error.
	Follow(ctx context.Context, next uint64, each func(*format.Group) error) error
	// Append appends a record, and sets its place. ErrConflict: look up the tip again.
	Append(ctx context.Context, r *format.Recorded) error
	CloseSegment(number uint32)
	Sweep(ctx context.Context) error
}

// Stream stores records by name. A name has tokens with dots between them; domain.ValidID accepts
// each token.
type Stream struct {
	h   Shard
	now func() time.Time
}

// New returns the stream of a shard.
func New(h Shard, now func() time.Time) *Stream { return &Stream{h, now} }

// Record is a stored record.
type Record struct {
	Name string
	Seq  uint64    // place in the stream; grows over all names
	Time time.Time // when it was written, by the clock of the node that wrote it
	Body []byte
}

// IsDelivery reports whether the record belongs to a delivery. The floor, for example, does not.
func (r Record) IsDelivery() bool { return isDelivery(r.Name) }

// RecordOf returns the record of a frame of the stream.
func RecordOf(r *format.Recorded) Record {
	return Record{Name: nameOf(r.Key), Seq: r.Seq, Time: r.Time, Body: r.Body}
}

// Put stores the next record of a name whose newest record is at place expected; 0 for the first.
// open means that the record is still needed: Waiting lists it, and its segment is not dropped. Put
// returns the place of the new record once it is durable. ErrConflict: the name's newest record is
// another one. ErrRefused: nothing was stored. ErrUnknown: the time (ctx, at most 15 s) ended
// first; the record may be stored or not.
//
// If the name's newest record follows the expected one and has the same bytes, Put returns its
// place: two writers must never put the same bytes. Records of concurrent callers share a sync.
func (d *Stream) Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	key, err := keyOf(name)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", fault.ErrRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	for looked := expected > 0; ; looked = true {
		var tip *format.Recorded
		if looked { // Append looks up a first record
			if tip, err = d.tipFor(ctx, key, expected); err != nil {
				return 0, fmt.Errorf("%w: delivery %s: %w", fault.ErrRefused, name, err)
			}
		}
		r := d.draft(key, tip, body, open)
		switch {
		case r.PrevSeq == expected:
		case tip != nil && tip.PrevSeq == expected && tip.Type == r.Type && bytes.Equal(tip.Body, body):
			return tip.Seq, nil
		default:
			return 0, fault.ErrConflict
		}
		if err = d.h.Append(ctx, r); err == nil {
			return r.Seq, nil
		}
		if !errors.Is(err, fault.ErrConflict) {
			return 0, fmt.Errorf("delivery %s: %w", name, err)
		}
	}
}

// tipFor returns the newest record of a key. It catches up if the record is not the expected one.
func (d *Stream) tipFor(ctx context.Context, key format.Key, expected uint64) (*format.Recorded, error) {
	tip, err := d.h.Tip(key)
	if err != nil || tip == nil && expected == 0 || tip != nil && tip.Seq == expected {
		return tip, err
	}
	if err := d.h.CatchUp(ctx); err != nil {
		return nil, err
	}
	return d.h.Tip(key)
}

func (d *Stream) draft(key format.Key, tip *format.Recorded, body []byte, open bool) *format.Recorded {
	r := &format.Recorded{Key: key, Shard: streams.DeliveryShard, Type: typeSettled, Schema: recordSchema, Time: d.now(), Body: body}
	if open {
		r.Type = typeOpen
	}
	r.Follow(tip)
	return r
}

// Last returns the newest record of a name that any process appended before the call. ErrNotFound:
// there is none, or it was dropped.
func (d *Stream) Last(ctx context.Context, name string) (Record, error) {
	key, err := keyOf(name)
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", fault.ErrNotFound, err)
	}
	var tip *format.Recorded
	if err = d.h.CatchUp(ctx); err == nil {
		tip, err = d.h.Tip(key)
	}
	return found(name, tip, err)
}

// Known returns the newest record of a name that this process has; it makes no request.
// ErrNotFound: there is none, or it was dropped.
func (d *Stream) Known(name string) (Record, error) {
	key, err := keyOf(name)
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", fault.ErrNotFound, err)
	}
	tip, err := d.h.Tip(key)
	return found(name, tip, err)
}

func found(name string, r *format.Recorded, err error) (Record, error) {
	switch {
	case err != nil:
		return Record{}, fmt.Errorf("eventstore: delivery %s: %w", name, err)
	case r == nil:
		return Record{}, fault.ErrNotFound
	}
	return RecordOf(r), nil
}
