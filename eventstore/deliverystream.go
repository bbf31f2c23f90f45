package eventstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"payledger/domain"
	"payledger/eventstore/format"
	"payledger/eventstore/jetapi"
)

// The records of deliveries are the plans of package notifier and their outcomes. They are a shard of their own beside the
// log. A record is a frame; the records of a name are a chain, as the events of an aggregate are. All rules for groups hold.
// The oldest segments can be dropped (deliverydrop.go). This file only stores bytes.
const (
	deliveryParts = 4
	// The types of records. A segment with the newest record of a name is not dropped while that is open.
	typeOpen    = "open"
	typeSettled = "settled"
	// recordSchema is the schema of a record's frame; that of its bytes is the notifier's.
	recordSchema = 1
)

// DeliveryStream stores records by name; a name is dot-joined tokens, each of which ValidID accepts.
type DeliveryStream struct {
	s *Store
	h *shard
}

// StoredDelivery is one record as it stands in the stream.
type StoredDelivery struct {
	Name string
	Seq  uint64 // place in the stream, as At makes it; grows over all names
	Body []byte
}

// IsDelivery reports whether the record is one of a delivery, and not of what stands beside deliveries.
func (d StoredDelivery) IsDelivery() bool {
	return strings.Count(d.Name, ".") == deliveryParts-1
}

// OpenDeliveries returns the stream.
func (s *Store) OpenDeliveries(context.Context) (*DeliveryStream, error) {
	return &DeliveryStream{s, s.records}, nil
}

// deliveryKey is the key of a name's records.
func deliveryKey(name string) (Key, error) {
	key := Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: name}
	if strings.Count(name, ".") == deliveryParts-1 {
		account, rest, _ := strings.Cut(name, ".")
		key = Key{Account: domain.AccountID(account), Aggregate: format.DeliveryAggregate, ID: rest}
	}
	return key, key.Valid()
}

// deliveryName is the inverse of deliveryKey.
func deliveryName(key Key) string {
	if key.Aggregate == format.DeliveryAggregate {
		return string(key.Account) + "." + key.ID
	}
	return key.ID
}

func storedDelivery(r *Recorded) StoredDelivery {
	return StoredDelivery{Name: deliveryName(r.Key), Seq: r.Seq, Body: r.Body}
}

// Put stores the next record of a name whose newest one is at place expected; 0 for the first. open says that the record
// is still needed: it is listed (Waiting), and never dropped. Put returns the new record's place once it is durable.
// ErrConflict: the name's newest record is another one. ErrRefused: nothing was stored. ErrUnknown: the time (ctx, at
// most 15 s) was over first; the record may be stored or not.
//
// Records that many callers put at the same moment are synced together.
//
// A record that stands there already, behind the expected one and with the same bytes, counts as this call's: two writers
// must never put the same bytes.
func (d *DeliveryStream) Put(ctx context.Context, name string, expected uint64, body []byte, open bool) (uint64, error) {
	key, err := deliveryKey(name)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	for looked := expected > 0; ; looked = true {
		var tip *Recorded
		if looked { // a first record is looked up when it is appended
			if tip, err = d.tipFor(ctx, key, expected); err != nil {
				return 0, fmt.Errorf("%w: delivery %s: %w", ErrRefused, name, err)
			}
		}
		r := d.draft(key, tip, body, open)
		switch {
		case r.PrevSeq == expected:
		case tip != nil && tip.PrevSeq == expected && tip.Type == r.Type && bytes.Equal(tip.Body, body):
			return tip.Seq, nil
		default:
			return 0, ErrConflict
		}
		if err = d.s.append(ctx, r); err == nil {
			return r.Seq, nil
		}
		away := errors.Is(err, errAway) && !d.s.closing.Load() && jetapi.Pause(ctx, resolvePause) == nil
		if !away && !errors.Is(err, ErrConflict) {
			return 0, fmt.Errorf("delivery %s: %w", name, err)
		}
	}
}

// tipFor returns the newest record of a key. With several writers it reads at the leader if the record is not the expected one.
func (d *DeliveryStream) tipFor(ctx context.Context, key Key, expected uint64) (*Recorded, error) {
	tip, err := d.tip(key)
	if err != nil || d.s.sole || tip == nil && expected == 0 || tip != nil && tip.Seq == expected {
		return tip, err
	}
	if err := d.h.catchUp(ctx); err != nil {
		return nil, err
	}
	return d.tip(key)
}

// tip returns the newest record that is known here; nil when there is none, or it was dropped.
func (d *DeliveryStream) tip(key Key) (*Recorded, error) {
	tip, err := d.h.tip(key)
	if err != nil {
		return nil, err
	}
	d.h.mu.Lock()
	defer d.h.mu.Unlock()
	if tip = d.h.kept(tip); tip == nil && d.h.stopped != nil { // what is not known here may stand where the stream is damaged
		return nil, d.h.stopped
	}
	return tip, nil
}

// draft makes the record behind tip.
func (d *DeliveryStream) draft(key Key, tip *Recorded, body []byte, open bool) *Recorded {
	r := &Recorded{
		Key: key, Shard: deliveryShard, Revision: 1, Type: typeSettled, Schema: recordSchema, Time: d.s.Now(), Body: body,
	}
	if open {
		r.Type = typeOpen
	}
	previous := Hash{}
	if tip != nil {
		r.Revision, r.PrevSeq, previous = tip.Revision+1, tip.Seq, tip.Hash
	}
	r.Hash = r.Link(previous)
	return r
}

// Last gives the newest record of a name, with everything that was acknowledged before the call, by whichever process;
// ErrNotFound when there is none, or it was dropped.
func (d *DeliveryStream) Last(ctx context.Context, name string) (StoredDelivery, error) {
	key, err := deliveryKey(name)
	if err != nil {
		return StoredDelivery{}, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err := d.h.catchUp(ctx); err != nil {
		return StoredDelivery{}, fmt.Errorf("eventstore: delivery %s: %w", name, err)
	}
	tip, err := d.tip(key)
	switch {
	case err != nil:
		return StoredDelivery{}, fmt.Errorf("eventstore: delivery %s: %w", name, err)
	case tip == nil:
		return StoredDelivery{}, ErrNotFound
	}
	return storedDelivery(tip), nil
}
