package deliverylog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/eventstore/format"
	"payledger/eventstore/tipstore"
)

// The tip store has the newest record of every name, and the places of the open deliveries of each
// endpoint:
//
//	"o" account "." endpoint 0 place    the rest of the name
//
// Both are written in one batch (Index). Package applied holds the changes that are not
// written yet in memory.
const openPrefix = 'o'

func openKey(lane string, place uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append([]byte{openPrefix}, lane...), 0), place)
}

// behindLane returns a key after all keys of an endpoint, and before the keys of the next endpoint.
func behindLane(lane string) []byte {
	return append(append([]byte{openPrefix}, lane...), 1)
}

// Index writes the places of the open deliveries: it implements applied.Index.
type Index struct{}

// Replaced returns the index key of the record before r. It returns nil if r is a delivery's first
// record, or not of a delivery.
func (Index) Replaced(r *format.Recorded) []byte {
	if r.Aggregate != format.DeliveryAggregate || r.PrevSeq == 0 {
		return nil
	}
	lane, _ := laneOf(r.Key)
	return openKey(lane, r.PrevSeq)
}

// Write adds the changes of the index to a batch of new tips. replaced has Replaced of all records
// since the last batch.
func (Index) Write(batch tipstore.Batch, tips map[format.Key]*format.Recorded, replaced [][]byte) error {
	for _, key := range replaced {
		if err := batch.Delete(key); err != nil {
			return err
		}
	}
	for _, r := range tips {
		if !isOpen(r) {
			continue
		}
		lane, rest := laneOf(r.Key)
		if err := batch.Set(openKey(lane, r.Seq), []byte(rest)); err != nil {
			return err
		}
	}
	return nil
}

// Snapshot is the newest records of all names at one moment.
type Snapshot struct {
	Newer  map[format.Key]*format.Recorded // records that the tip store may lack
	View   tipstore.View                   // the caller closes it
	Stored func(key format.Key) (*format.Recorded, error)
}

var errEnough = errors.New("eventstore: enough")

// Waiting returns up to limit open deliveries of an endpoint whose newest records are at or after a
// place, in the order of their places. lane is <accountId>.<endpointId>. end reports that there are
// no more.
func (d *Stream) Waiting(ctx context.Context, lane string, from uint64, limit int) (page []Record, end bool, err error) {
	all, err := d.snapshot(ctx, func(r *format.Recorded) bool {
		of, _ := laneOf(r.Key)
		return r.Aggregate == format.DeliveryAggregate && of == lane
	})
	if err != nil {
		return nil, false, err
	}
	defer all.View.Close()
	for _, r := range all.Newer {
		if isOpen(r) && r.Seq >= from {
			page = append(page, RecordOf(r))
		}
	}
	stored := 0
	err = all.View.Range(openKey(lane, from), behindLane(lane), func(key, rest []byte) error {
		name, err := keyOf(lane + "." + string(rest))
		if err != nil || all.Newer[name] != nil {
			return err
		}
		r, err := all.Stored(name)
		if err != nil {
			return err
		}
		if r.Seq != binary.BigEndian.Uint64(key[len(key)-8:]) {
			return fmt.Errorf("%w: %s is open at another place", tipstore.ErrDamaged, name)
		}
		page = append(page, RecordOf(r))
		if stored++; stored > limit {
			return errEnough
		}
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	slices.SortFunc(page, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	if len(page) > limit {
		return page[:limit:limit], false, nil
	}
	return page, true, nil
}

// snapshot returns the newest records, with all records that any process appended before the call.
func (d *Stream) snapshot(ctx context.Context, want func(*format.Recorded) bool) (Snapshot, error) {
	if err := d.h.CatchUp(ctx); err != nil {
		return Snapshot{}, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	return d.h.Snapshot(want)
}

// Lanes returns the endpoints with open deliveries, as <accountId>.<endpointId>, in no order. It
// reads a few keys for each.
func (d *Stream) Lanes(ctx context.Context) ([]string, error) {
	all, err := d.snapshot(ctx, func(r *format.Recorded) bool { return r.Aggregate == format.DeliveryAggregate })
	if err != nil {
		return nil, err
	}
	defer all.View.Close()
	found := map[string]bool{}
	for _, r := range all.Newer {
		if lane, _ := laneOf(r.Key); isOpen(r) {
			found[lane] = true
		}
	}
	for next := []byte{openPrefix}; next != nil; {
		from := next
		next = nil
		err := all.View.Range(from, []byte{openPrefix + 1}, func(key, rest []byte) error {
			lane, _, _ := bytes.Cut(key[1:], []byte{0})
			account, endpoint, _ := strings.Cut(string(lane), ".")
			name := format.Key{Account: domain.AccountID(account), Aggregate: format.DeliveryAggregate, ID: endpoint + "." + string(rest)}
			if all.Newer[name] != nil { // a newer record decides
				return ctx.Err()
			}
			found[string(lane)] = true
			next = behindLane(string(lane))
			return errEnough
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, fmt.Errorf("eventstore: deliveries: %w", err)
		}
	}
	return slices.Collect(maps.Keys(found)), nil
}
