package eventstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"payledger/domain"
	"payledger/eventstore/format"
	"payledger/eventstore/tipstore"
)

// The tip store has, besides the newest record of every name, the places of the open deliveries of each endpoint:
//
//	"o" account "." endpoint 0 place    the rest of the name
//
// So a start finds what is open without reading the stream, and a lane reads back what it left there. Both are written
// with the tips; what is not written yet is in memory.
const openPrefix = 'o'

// openLane is what the keys of an endpoint's open deliveries begin with.
func openLane(lane string) []byte {
	return append(append([]byte{openPrefix}, lane...), 0)
}

// behindLane is behind all keys that begin with openLane, and before those of the next endpoint.
func behindLane(lane string) []byte {
	return append(append([]byte{openPrefix}, lane...), 1)
}

func openKey(lane string, place uint64) []byte {
	return binary.BigEndian.AppendUint64(openLane(lane), place)
}

// laneOf splits the key of a delivery's record into its endpoint's lane and the rest of the name.
func laneOf(key Key) (lane, rest string) {
	endpoint, rest, _ := strings.Cut(key.ID, ".")
	return string(key.Account) + "." + endpoint, rest
}

// isOpen reports whether a record is one of a delivery that is open.
func isOpen(r *Recorded) bool { return r.Aggregate == format.DeliveryAggregate && r.Type == typeOpen }

// pass notes that what stood before r is not the newest record of its name any more. The caller holds the lock.
func (h *shard) pass(r *Recorded) {
	if r.Aggregate == format.DeliveryAggregate && r.PrevSeq > 0 {
		lane, _ := laneOf(r.Key)
		h.passed = append(h.passed, openKey(lane, r.PrevSeq))
	}
}

// writeOpen adds the changes of the open deliveries to a batch of tips.
func writeOpen(batch tipstore.Batch, tips map[Key]*Recorded, passed [][]byte) error {
	for _, key := range passed {
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

// unwritten returns the newest records that the tip store may not have yet, of which want holds, and the tip store as it is
// with them.
func (h *shard) unwritten(want func(*Recorded) bool) (newer map[Key]*Recorded, view tipstore.View, err error) {
	h.s.tipsOpen.RLock()
	defer h.s.tipsOpen.RUnlock()
	if h.s.tipsClosed {
		return nil, view, fmt.Errorf("%w: the store was closed", ErrUnhealthy)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	newer = map[Key]*Recorded{}
	for _, tips := range []map[Key]*Recorded{h.flushing, h.dirty} {
		for key, r := range tips {
			if want(r) {
				newer[key] = r
			}
		}
	}
	return newer, h.s.tips.Snapshot(), nil
}

// errEnough ends a walk over keys.
var errEnough = errors.New("eventstore: enough")

// Waiting returns up to limit open deliveries of an endpoint (lane is "<accountId>.<endpointId>") whose newest records stand
// at or after a place, in the order of their places. end reports that there are no more.
func (d *DeliveryStream) Waiting(ctx context.Context, lane string, from uint64, limit int) (page []StoredDelivery, end bool, err error) {
	if err := d.h.catchUp(ctx); err != nil {
		return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	newer, view, err := d.h.unwritten(func(r *Recorded) bool {
		of, _ := laneOf(r.Key)
		return r.Aggregate == format.DeliveryAggregate && of == lane
	})
	if err != nil {
		return nil, false, err
	}
	defer view.Close()
	for _, r := range newer {
		if isOpen(r) && r.Seq >= from {
			page = append(page, storedDelivery(r))
		}
	}
	stored := 0
	prefix := openLane(lane)
	err = view.Range(openKey(lane, from), behindLane(lane), func(key, rest []byte) error {
		tip, err := deliveryKey(lane + "." + string(rest))
		if err != nil || newer[tip] != nil {
			return err
		}
		value, err := view.Get(tipKey(tip))
		if err != nil {
			return err
		}
		r, err := decodeTip(deliveryShard, value)
		if err != nil {
			return err
		}
		if r.Seq != binary.BigEndian.Uint64(key[len(prefix):]) {
			return fmt.Errorf("%w: %s is open at another place", tipstore.ErrDamaged, tip)
		}
		page = append(page, storedDelivery(r))
		if stored++; stored > limit {
			return errEnough
		}
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, false, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	slices.SortFunc(page, func(a, b StoredDelivery) int { return compareUint(a.Seq, b.Seq) })
	if len(page) > limit {
		return page[:limit:limit], false, nil
	}
	return page, true, nil
}

func compareUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Lanes gives the endpoints that have open deliveries, as "<accountId>.<endpointId>", in no order. It reads a key or two for
// each.
func (d *DeliveryStream) Lanes(ctx context.Context) (lanes []string, err error) {
	if err := d.h.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("eventstore: deliveries: %w", err)
	}
	newer, view, err := d.h.unwritten(func(r *Recorded) bool { return r.Aggregate == format.DeliveryAggregate })
	if err != nil {
		return nil, err
	}
	defer view.Close()
	found := map[string]bool{}
	for _, r := range newer {
		if lane, _ := laneOf(r.Key); isOpen(r) {
			found[lane] = true
		}
	}
	for next := []byte{openPrefix}; next != nil; {
		from := next
		next = nil
		err := view.Range(from, []byte{openPrefix + 1}, func(key, rest []byte) error {
			lane, _, _ := bytes.Cut(key[1:], []byte{0})
			account, endpoint, _ := strings.Cut(string(lane), ".")
			tip := Key{Account: domain.AccountID(account), Aggregate: format.DeliveryAggregate, ID: endpoint + "." + string(rest)}
			if newer[tip] != nil { // it has gone on
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
	for lane := range found {
		lanes = append(lanes, lane)
	}
	return lanes, nil
}
