package eventstore

import (
	"context"
	"fmt"
	"maps"

	"payledger/domain"
)

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
