package eventstore

import (
	"context"
	"fmt"
	"maps"

	"payledger/domain"
)

// EveryAccount stands for all accounts, where Newest takes one.
const EveryAccount domain.AccountID = "*"

// Newest hands on the newest event of every aggregate of one kind that an account has (EveryAccount: that there is), as
// they stood at the call, in the order of their ids; begin is called first with their number. It holds few of them in
// memory, however many there are.
func (s *Store) Newest(ctx context.Context, account domain.AccountID, aggregate string, begin func(total uint64), handle func(*Recorded) error) error {
	if account != EveryAccount && !domain.ValidID(string(account)) || !domain.ValidID(aggregate) {
		return fmt.Errorf("%w: %s.%s", ErrNotFound, account, aggregate)
	}
	newer := map[Key]*Recorded{} // what the tip store does not have yet
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
