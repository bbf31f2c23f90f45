package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/projections/sqlitefile"
)

// directory holds all accounts in memory: every request looks one up. A change builds a new table
// and swaps it in, so that readers take no lock; accounts are few and change rarely.
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

// update takes in changed accounts, but no older state than its own: it is loaded from the store,
// which may be ahead of the readers.
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

// merge takes in the accounts of another directory, as update does.
func (d *directory) merge(other *directory) {
	var all []view[account.State]
	for _, s := range other.now().byID {
		all = append(all, view[account.State]{state: s})
	}
	d.update(all)
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

// APIKey returns an API key as this node's views have it. The hash and the end of a key never
// change: a wrong text or an expired key can be refused without a read of the log. Only
// AccountByKey shows whether the key was revoked.
func (p *Projections) APIKey(id domain.APIKeyID) (account.APIKey, bool) {
	t := p.directory.now()
	return t.byID[t.byKey[id]].Key(id)
}

// AccountByKey returns the account of an API key with every change that was acknowledged before the
// call: a revoked key is not among its keys, even if the views lag (D2). A change is acknowledged
// when all nodes have applied it, so this node reads its own state, under its lease. The views must
// have applied a new key of another node. With a context of eventstore.Reading(ctx, Applied) the
// account can be old. The caller checks whether the key may be used.
func (p *Projections) AccountByKey(ctx context.Context, id domain.APIKeyID) (account.State, bool, error) {
	owner, found := p.directory.now().byKey[id]
	if !found {
		return account.State{}, false, nil
	}
	s, err := p.loadAccount(ctx, owner, eventstore.Leased)
	if err != nil {
		return account.State{}, false, unavailable(err)
	}
	return s, true, nil
}

// AccountNow returns an account with every change that any node recorded before the call, also of
// those that no caller waits for, such as the end of a user's session; false if there is none.
func (p *Projections) AccountNow(ctx context.Context, id domain.AccountID) (account.State, bool, error) {
	s, err := p.loadAccount(ctx, id, eventstore.Latest)
	if errors.Is(err, eventstore.ErrNotFound) {
		return account.State{}, false, nil
	}
	if err != nil {
		return account.State{}, false, unavailable(err)
	}
	return s, true, nil
}

func (p *Projections) loadAccount(ctx context.Context, id domain.AccountID, consistency eventstore.Consistency) (account.State, error) {
	newest, err := p.Store.Load(ctx, eventstore.Accounts.Key(id, string(id)), consistency)
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

// AccountCount returns the number of accounts.
func (p *Projections) AccountCount() int { return len(p.directory.now().byID) }

// ErrNoRows is the error of reads that need rows on a node that keeps none.
var ErrNoRows = errors.New("projections: this node keeps no views (--role api)")

// openWithoutRows returns projections that know the accounts, and have no rows. The tip store has
// the accounts: the log is not read from its beginning.
func openWithoutRows(ctx context.Context, c Config) (*Projections, error) {
	m := &model{File: sqlitefile.Absent(ErrNoRows), store: c.Store, directory: newDirectory(), places: make([]place, c.Store.Shards())}
	events := c.Store.Events()
	for shard, seq := range c.Store.Appended() { // before the accounts: a later change of an account comes again
		m.places[shard].seq = seq
	}
	var found []view[account.State]
	err := c.Store.Newest(ctx, eventstore.EveryAccount, eventstore.Accounts.Name, func(uint64) {}, func(r *eventstore.Recorded) error {
		s, err := eventstore.StateAt(ctx, c.Store, eventstore.Accounts, r)
		found = append(found, view[account.State]{state: s})
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("projections: accounts: %w", err), m.Close())
	}
	m.directory.update(found)
	p := projectionsOf(c, m)
	p.applied.Store(events)
	return p, nil
}

// applyAccounts takes in the accounts of some events, and moves the places past all of them.
func (m *model) applyAccounts(ctx context.Context, events []*eventstore.Recorded) error {
	var changed []view[account.State]
	places := slices.Clone(m.places)
	for _, r := range events {
		if r.Aggregate == eventstore.Accounts.Name {
			if err := understood(r); err != nil {
				return &poison{event: r, err: err}
			}
			s, err := eventstore.StateAt(ctx, m.store, eventstore.Accounts, r)
			if err != nil {
				return &poison{event: r, err: err}
			}
			changed = append(changed, view[account.State]{state: s})
		}
		places[r.Shard].seq = max(places[r.Shard].seq, r.Seq)
	}
	m.directory.update(changed)
	m.places = places
	return nil
}

// sessionOwner finds the account of a session without rows: it looks under each account, in what
// this node has applied, and if nobody has the session, again when it has applied the end of the
// session's shard as of the call.
func (p *Projections) sessionOwner(ctx context.Context, id domain.SessionID) (domain.AccountID, bool, error) {
	if !domain.ValidID(string(id)) {
		return "", false, nil
	}
	for waited := false; ; waited = true {
		for owner := range p.directory.now().byID {
			_, err := p.Store.Load(ctx, eventstore.Sessions.Key(owner, string(id)), eventstore.Applied)
			switch {
			case err == nil:
				return owner, true, nil
			case !errors.Is(err, eventstore.ErrNotFound):
				return "", false, unavailable(err)
			}
		}
		if waited {
			return "", false, nil
		}
		waiting, cancel := context.WithTimeout(ctx, ownerWait)
		err := p.shardCaughtUp(waiting, domain.Shard(string(id), p.Store.Shards()))
		cancel()
		if err != nil {
			return "", false, unavailable(err)
		}
	}
}
