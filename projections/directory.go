package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
)

// directory holds all accounts in memory: every request looks one up. A change builds a new table and swaps it in, so that
// readers take no lock; accounts are few and change rarely.
type directory struct{ table atomic.Pointer[accountTable] }

type accountTable struct {
	byID  map[domain.AccountID]account.State
	byKey map[domain.APIKeyID]domain.AccountID
}

func newDirectory() *directory {
	d := &directory{}
	d.table.Store(&accountTable{byID: map[domain.AccountID]account.State{}, byKey: map[domain.APIKeyID]domain.AccountID{}})
	return d
}

func (d *directory) now() *accountTable { return d.table.Load() }

// update takes in changed accounts, but no older state than its own: it is loaded from the store, which may be ahead of the readers.
func (d *directory) update(changed []view[account.State]) {
	if len(changed) == 0 {
		return
	}
	now := d.now()
	next := &accountTable{maps.Clone(now.byID), maps.Clone(now.byKey)}
	for _, v := range changed {
		if v.state.Revision > next.byID[v.state.ID].Revision {
			next.put(v.state)
		}
	}
	d.table.Store(next)
}

func (t *accountTable) put(s account.State) {
	for _, k := range t.byID[s.ID].APIKeys {
		delete(t.byKey, k.ID)
	}
	for _, k := range s.APIKeys {
		t.byKey[k.ID] = s.ID
	}
	t.byID[s.ID] = s
}

// loadDirectory fills the directory: the file has the ids of the accounts, the store their states.
func (m *model) loadDirectory(ctx context.Context) error {
	rows, err := readKeys(ctx, m, func(id string) eventstore.Key { return eventstore.Accounts.Key(domain.AccountID(id), id) }, selectAccounts)
	if err != nil {
		return fmt.Errorf("projections: accounts: %w", err)
	}
	states, err := tips(ctx, m.store, eventstore.Accounts, rows)
	if errors.Is(err, errAhead) {
		return nil // the log was replaced, or lost events: Run returns that error
	}
	if err != nil {
		return fmt.Errorf("projections: accounts: %w", err)
	}
	found := make([]view[account.State], len(states))
	for i, s := range states {
		found[i].state = s
	}
	m.directory.update(found)
	return nil
}

// Account returns the newest applied state of an account. Callers must not change it.
func (p *Projections) Account(id domain.AccountID) (account.State, bool) {
	s, found := p.directory.now().byID[id]
	return s, found
}

// APIKey returns an API key as this node's views have it. The hash and the end of a key never change: a wrong text or an
// expired key can be refused without a read of the log. Only AccountByKey shows whether the key was revoked.
func (p *Projections) APIKey(id domain.APIKeyID) (account.APIKey, bool) {
	t := p.directory.now()
	return t.byID[t.byKey[id]].Key(id)
}

// AccountByKey returns the account of an API key with every change that any node acknowledged before the call: a revoked key is not among
// its keys, even if the views lag (D2). The views must have applied a new key of another node. With a context of eventstore.WithStale the
// account can be old. The caller checks whether the key may be used. Calls that come while an account is read share the next read.
func (p *Projections) AccountByKey(ctx context.Context, id domain.APIKeyID) (account.State, bool, error) {
	owner, found := p.directory.now().byKey[id]
	if !found {
		return account.State{}, false, nil
	}
	s, err := p.sharedAccount(ctx, owner)
	if err != nil {
		return account.State{}, false, unavailable(err)
	}
	return s, true, nil
}

// AccountNow returns an account as AccountByKey does; false if there is none.
func (p *Projections) AccountNow(ctx context.Context, id domain.AccountID) (account.State, bool, error) {
	s, err := p.sharedAccount(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return account.State{}, false, nil
	}
	if err != nil {
		return account.State{}, false, unavailable(err)
	}
	return s, true, nil
}

func (p *Projections) sharedAccount(ctx context.Context, id domain.AccountID) (account.State, error) {
	read := func(ctx context.Context) (account.State, error) { return p.newestAccount(ctx, id) }
	if p.Store.Sole() || eventstore.Stale(ctx) { // the state is in memory
		return read(ctx)
	}
	return p.accountReads.do(ctx, id, read)
}

func (p *Projections) newestAccount(ctx context.Context, id domain.AccountID) (account.State, error) {
	newest, err := p.Store.Load(ctx, eventstore.Accounts.Key(id, string(id)), eventstore.Latest)
	if err != nil {
		return account.State{}, err
	}
	if known, found := p.Account(id); found && known.Revision == newest.Revision {
		return known, nil
	}
	return eventstore.StateAt(ctx, p.Store, eventstore.Accounts, newest)
}

// Accounts lists all accounts by id.
func (p *Projections) Accounts() []account.State {
	return slices.SortedFunc(maps.Values(p.directory.now().byID), func(a, b account.State) int { return cmp.Compare(a.ID, b.ID) })
}

// sharedReads shares reads between concurrent calls with the same key. A read that began before a call may lack events that
// were acknowledged before the call. The call therefore joins the next read, which begins when the current read has ended. At
// any time one read of a key runs, and at most one waits.
type sharedReads[K comparable, V any] struct {
	within time.Duration // longest wait of a call, for both reads together; 0: no limit

	mu  sync.Mutex
	now map[K]*sharedRead[V] // the running read
}

type sharedRead[V any] struct {
	ctx     context.Context // ends when no caller waits for the read
	stop    context.CancelFunc
	callers int
	next    *sharedRead[V] // begins when this one has ended; nil: no call waits for it
	done    chan struct{}
	value   V
	err     error
}

func newSharedRead[V any]() *sharedRead[V] {
	t := &sharedRead[V]{done: make(chan struct{})}
	t.ctx, t.stop = context.WithCancel(context.Background()) //nolint:gosec // run stops it
	return t
}

// do returns the result of a read that began after the call. All calls with the same key must read the same thing.
func (s *sharedReads[K, V]) do(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	s.mu.Lock()
	t := s.now[key]
	switch {
	case t == nil:
		if s.now == nil {
			s.now = map[K]*sharedRead[V]{}
		}
		t = newSharedRead[V]()
		s.now[key] = t
		go s.run(key, t, read)
	case t.next == nil:
		t.next = newSharedRead[V]()
		t = t.next
	default:
		t = t.next
	}
	t.callers++
	s.mu.Unlock()
	if s.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.within)
		defer cancel()
	}
	select {
	case <-t.done:
		return t.value, t.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.callers--; t.callers == 0 && s.now[key] == t {
		t.stop() // a read that has not begun may still get a caller
	}
	var none V
	return none, ctx.Err()
}

// run performs one read after the other until no call waits.
func (s *sharedReads[K, V]) run(key K, t *sharedRead[V], read func(context.Context) (V, error)) {
	for t != nil {
		t.value, t.err = guarded(t.ctx, read)
		t.stop()
		s.mu.Lock()
		close(t.done)
		if t = t.next; t != nil && t.callers == 0 {
			t = nil
		}
		if s.now[key] = t; t == nil {
			delete(s.now, key)
		}
		s.mu.Unlock()
	}
}

func guarded[V any](ctx context.Context, read func(context.Context) (V, error)) (value V, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("projections: a read panicked: %v", cause)
		}
	}()
	return read(ctx)
}
