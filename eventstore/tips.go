package eventstore

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"payledger/domain"
	"payledger/eventstore/cache"
	"payledger/eventstore/tiprow"
	"payledger/eventstore/tipstore"
)

// storedTip reads a tip from the tip store. It returns nil if the store has none; fresh means that this is likely.
func (s *Store) storedTip(shard int, key Key, fresh bool) (*Recorded, error) {
	generation := s.recent.Generation()
	get := s.tips.Get
	if fresh {
		get = s.tips.Find
	}
	r, err := tiprow.Get(get, shard, key)
	switch {
	case errors.Is(err, tipstore.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, s.unreadable(key, err)
	}
	s.recent.PutSince(r.Key, r, generation)
	return r, nil
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
	prefix := tiprow.Prefix(aggregate)
	if account != EveryAccount {
		prefix = tiprow.Prefix(aggregate, string(account))
	}
	view := s.tips.Snapshot()
	defer view.Close()
	total := uint64(len(newer))
	err := view.Each(prefix, func(key, _ []byte) error {
		if _, known := newer[tiprow.ParseKey(key)]; !known {
			total++
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	begin(total)
	err = view.Each(prefix, func(key, value []byte) error {
		at := tiprow.ParseKey(key)
		if newer[at] != nil {
			return ctx.Err()
		}
		r, err := tiprow.Parse(s.ShardOf(at), append([]byte(nil), value...))
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
