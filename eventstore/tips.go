package eventstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"

	"payledger/domain"
	"payledger/eventstore/cache"
	"payledger/eventstore/format"
	"payledger/eventstore/tipstore"
)

// Keys of the tip store: "t" aggregate 0 account 0 id is a tip; "a" shard is the applied end of a shard; "w" stream is the newest
// acknowledged sequence of a stream beside the log; "c" is the place of the scrub; "e" is the edge of the newest checkpoint;
// "l" is the log's id. left.go has the keys of parts that left states, package sidelog those of records beside the log.
const (
	tipPrefix     = 't'
	appliedPrefix = 'a'
	scrubPrefix   = 'c'
	logIDKey      = "l"
)

func tipKey(key Key) []byte {
	b := make([]byte, 0, 4+len(key.Aggregate)+len(key.Account)+len(key.ID))
	b = append(append(append(b, tipPrefix), key.Aggregate...), 0)
	b = append(append(b, key.Account...), 0)
	return append(b, key.ID...)
}

// keyOfTip is the inverse of tipKey.
func keyOfTip(b []byte) Key {
	parts := strings.SplitN(string(b[1:]), "\x00", 3)
	if len(parts) != 3 {
		return Key{}
	}
	return Key{Aggregate: parts[0], Account: domain.AccountID(parts[1]), ID: parts[2]}
}

func appliedKey(shard int) []byte {
	return binary.BigEndian.AppendUint16([]byte{appliedPrefix}, uint16(shard))
}

// encodeTip returns the value of a tip: the event's address, its number, its frame.
func encodeTip(r *Recorded) []byte {
	b := make([]byte, 0, 16+len(r.Body)+700)
	b = binary.BigEndian.AppendUint64(b, r.Seq)
	b = binary.BigEndian.AppendUint64(b, r.Number)
	return r.AppendFrame(b)
}

// decodeTip reads the value of a tip; the event shares its memory.
func decodeTip(shard int, value []byte) (*Recorded, error) {
	if len(value) < 16 {
		return nil, fmt.Errorf("%w: a tip of %d bytes", tipstore.ErrDamaged, len(value))
	}
	r, rest, err := format.ParseFrame(value[16:])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes after the frame", len(rest))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", tipstore.ErrDamaged, err)
	}
	r.Shard, r.Seq, r.Number = shard, binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])
	return r, nil
}

func encodeHead(h format.Head) []byte {
	var b []byte
	for _, n := range []uint64{h.Seq, h.Events, h.Aggregates, h.Last} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(b, h.Hash[:]...)
}

func decodeHead(b []byte) (h format.Head, err error) {
	if len(b) != 4*8+len(h.Hash) {
		return h, fmt.Errorf("%w: an applied place of %d bytes", tipstore.ErrDamaged, len(b))
	}
	for i, n := range []*uint64{&h.Seq, &h.Events, &h.Aggregates, &h.Last} {
		*n = binary.BigEndian.Uint64(b[8*i:])
	}
	copy(h.Hash[:], b[32:])
	return h, nil
}

// storedTip reads a tip from the tip store. It returns nil if the store has none; fresh means that this is likely.
func (s *Store) storedTip(shard int, key Key, fresh bool) (*Recorded, error) {
	generation := s.recent.Generation()
	s.tipsOpen.RLock()
	defer s.tipsOpen.RUnlock()
	if s.tipsClosed {
		return nil, fmt.Errorf("%w: the store was closed", ErrUnhealthy)
	}
	get := s.tips.Get
	if fresh {
		get = s.tips.Find
	}
	value, err := get(tipKey(key))
	if errors.Is(err, tipstore.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		var r *Recorded
		if r, err = decodeTip(shard, value); err == nil {
			s.recent.PutSince(r.Key, r, generation)
			return r, nil
		}
	}
	return nil, s.unreadable(key, err)
}

// newRecent returns a cache of newest events, bounded by its size in memory. Events are immutable and shared. An event in the
// cache is never an old one: every applied event enters the cache.
func newRecent(capacity int) *cache.Cache[Key, *Recorded] {
	return cache.New[Key](capacity, (*Recorded).Size, func(a, b *Recorded) bool { return a.Seq < b.Seq })
}

// EveryAccount selects all accounts in a call of Newest.
const EveryAccount domain.AccountID = "*"

// Newest calls handle with the newest event of every aggregate of one kind, of one account or EveryAccount, as of the call. It
// first calls begin with the number of aggregates. Events of the tip store come in the order of their ids, newer ones last. It
// holds few events in memory.
func (s *Store) Newest(ctx context.Context, account domain.AccountID, aggregate string, begin func(total uint64), handle func(*Recorded) error) error {
	if account != EveryAccount && !domain.ValidID(string(account)) || !domain.ValidID(aggregate) {
		return fmt.Errorf("%w: %s.%s", ErrNotFound, account, aggregate)
	}
	newer := map[Key]*Recorded{} // the tip store does not have them yet
	for _, h := range s.shard {
		if err := h.catchUp(ctx); err != nil {
			return err
		}
		if err := h.healthy(); err != nil {
			return err
		}
		h.mu.Lock()
		maps.Copy(newer, h.flushing)
		maps.Copy(newer, h.dirty)
		h.mu.Unlock()
	}
	maps.DeleteFunc(newer, func(key Key, _ *Recorded) bool {
		return key.Aggregate != aggregate || account != EveryAccount && key.Account != account
	})
	prefix := append(append([]byte{tipPrefix}, aggregate...), 0)
	if account != EveryAccount {
		prefix = append(append(prefix, account...), 0)
	}
	s.tipsOpen.RLock()
	if s.tipsClosed {
		s.tipsOpen.RUnlock()
		return fmt.Errorf("%w: the store was closed", ErrUnhealthy)
	}
	view := s.tips.Snapshot()
	s.tipsOpen.RUnlock()
	defer view.Close()
	total := uint64(len(newer))
	err := view.Each(prefix, func(key, _ []byte) error {
		if _, known := newer[keyOfTip(key)]; !known {
			total++
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	begin(total)
	err = view.Each(prefix, func(key, value []byte) error {
		at := keyOfTip(key)
		if newer[at] != nil {
			return ctx.Err()
		}
		r, err := decodeTip(s.ShardOf(at), append([]byte(nil), value...))
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return handle(r)
	})
	for _, r := range newer {
		if err == nil {
			err = handle(r)
		}
	}
	return err
}
