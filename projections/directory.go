package projections

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore"
)

// directory holds all accounts in memory: every request looks one up. A change makes a new table and
// swaps it in, so readers take no lock; accounts change rarely and are few.
type directory struct{ table atomic.Pointer[accountTable] }

type accountTable struct {
	byID  map[domain.AccountID]account.State
	byKey map[domain.APIKeyID]domain.AccountID
}

// update puts the views' accounts in.
func (d *directory) update(changed []view[account.State]) {
	if len(changed) == 0 {
		return
	}
	next := &accountTable{byID: map[domain.AccountID]account.State{}, byKey: map[domain.APIKeyID]domain.AccountID{}}
	if now := d.table.Load(); now != nil {
		next.byID, next.byKey = maps.Clone(now.byID), maps.Clone(now.byKey)
	}
	for _, v := range changed {
		next.put(v.state)
	}
	d.table.Store(next)
}

func (t *accountTable) put(s account.State) {
	for _, k := range t.byID[s.ID].APIKeys {
		delete(t.byKey, k.ID) // a key that is no more
	}
	for _, k := range s.APIKeys {
		t.byKey[k.ID] = s.ID
	}
	t.byID[s.ID] = s
}

// loadDirectory fills the directory from the file.
func (m *model) loadDirectory(ctx context.Context) error {
	rows, err := m.conn.QueryContext(ctx, selectAccounts)
	if err != nil {
		return fmt.Errorf("projections: accounts: %w", err)
	}
	defer rows.Close()
	var found []view[account.State]
	for rows.Next() {
		var raw []byte
		var v view[account.State]
		if err := rows.Scan(&raw); err != nil {
			return fmt.Errorf("projections: accounts: %w", err)
		}
		if err := eventstore.Unmarshal(raw, &v.state); err != nil {
			return fmt.Errorf("projections: accounts: %w", err)
		}
		found = append(found, v)
	}
	m.directory.update(found)
	return rows.Err()
}

// Account gives the newest state of an account that this node has applied; callers do not change it.
func (p *Projections) Account(id domain.AccountID) (account.State, bool) {
	t := p.model.directory.table.Load()
	if t == nil {
		return account.State{}, false
	}
	s, found := t.byID[id]
	return s, found
}

// AccountByKey finds the account that an API key belongs to. Whether the key may still be used is for
// the caller to check, against the state given.
func (p *Projections) AccountByKey(id domain.APIKeyID) (account.State, bool) {
	t := p.model.directory.table.Load()
	if t == nil {
		return account.State{}, false
	}
	owner, found := t.byKey[id]
	if !found {
		return account.State{}, false
	}
	s, found := t.byID[owner]
	return s, found
}

// Accounts lists all accounts by id.
func (p *Projections) Accounts() []account.State {
	t := p.model.directory.table.Load()
	if t == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(t.byID), func(a, b account.State) int { return cmp.Compare(a.ID, b.ID) })
}
