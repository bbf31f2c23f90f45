package workflows

import (
	"context"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

const (
	// maxAccounts limits the cached accounts, and maxChanges their changes.
	maxAccounts = 1024
	maxChanges  = 1 << 18
)

// definitionHistory caches the changes of accounts' workflows, so that each change is read once.
type definitionHistory struct {
	store   eventstore.Store
	batch   uint64
	of      map[domain.AccountID]*accountHistory
	changes int
}

// accountHistory holds one account's changes, newest first, and the state after one of them.
type accountHistory struct {
	batch   uint64 // the last batch for which update ran
	changes []change
	state   workflow.State
	seq     uint64 // sequence of the change after which state was; 0: no state
}

// change is an event that changed an account's workflows.
type change struct {
	time     time.Time
	seq      uint64
	previous uint64
	revision uint64
}

// refresh begins a batch of events: at then reads the newest changes of each account once.
func (b *definitionHistory) refresh() {
	b.batch++
	if len(b.of) > maxAccounts || b.changes > maxChanges {
		b.of, b.changes = nil, 0
	}
	if b.of == nil {
		b.of = map[domain.AccountID]*accountHistory{}
	}
}

// at returns the account's workflows in the state at a time, by the times of the changes (D19).
func (b *definitionHistory) at(ctx context.Context, account domain.AccountID, at time.Time) (workflow.State, error) {
	key := eventstore.Workflows.Key(account, string(account))
	known := b.of[account]
	if known == nil {
		known = &accountHistory{}
		b.of[account] = known
	}
	if known.batch != b.batch {
		if err := b.update(ctx, known, key); err != nil {
			return workflow.State{}, err
		}
		known.batch = b.batch
	}
	for i := 0; i < len(known.changes); i++ {
		c := known.changes[i]
		if !c.time.After(at) {
			return b.stateAt(ctx, known, key, c)
		}
		if i == len(known.changes)-1 && c.previous > 0 {
			r, err := b.read(ctx, key, c.previous, c.revision-1)
			if err != nil {
				return workflow.State{}, err
			}
			known.changes = append(known.changes, changeOf(r))
			b.changes++
		}
	}
	return workflow.State{}, nil
}

// update reads the changes since the last batch.
func (b *definitionHistory) update(ctx context.Context, known *accountHistory, key eventstore.Key) error {
	tip, err := eventstore.Load(ctx, b.store, eventstore.Workflows, key, eventstore.Leased)
	if err != nil || tip.Recorded == nil {
		return err
	}
	newest := uint64(0)
	if len(known.changes) > 0 {
		newest = known.changes[0].seq
	}
	if tip.Recorded.Seq <= newest {
		return nil
	}
	known.state, known.seq = tip.State, tip.Recorded.Seq
	came := []change{changeOf(tip.Recorded)}
	for newest > 0 && came[len(came)-1].previous > newest {
		last := came[len(came)-1]
		r, err := b.read(ctx, key, last.previous, last.revision-1)
		if err != nil {
			return err
		}
		came = append(came, changeOf(r))
	}
	b.changes += len(came)
	known.changes = append(came, known.changes...)
	return nil
}

func (b *definitionHistory) stateAt(ctx context.Context, known *accountHistory, key eventstore.Key, c change) (workflow.State, error) {
	if known.seq == c.seq {
		return known.state, nil
	}
	r, err := b.read(ctx, key, c.seq, c.revision)
	if err != nil {
		return workflow.State{}, err
	}
	state, err := eventstore.StateAt(ctx, b.store, eventstore.Workflows, r)
	if err == nil {
		known.state, known.seq = state, c.seq
	}
	return state, err
}

func (b *definitionHistory) read(ctx context.Context, key eventstore.Key, seq, revision uint64) (*eventstore.Recorded, error) {
	r, err := b.store.Read(ctx, b.store.ShardOf(key), seq)
	if err != nil {
		return nil, fmt.Errorf("workflows: %s revision %d: %w", key, revision, err)
	}
	if r.Key != key || r.Revision != revision {
		return nil, fmt.Errorf("workflows: %w: %s revision %d is not at sequence %d", eventstore.ErrUnhealthy, key, revision, seq)
	}
	return r, nil
}

func changeOf(r *eventstore.Recorded) change { return change{r.Time, r.Seq, r.PrevSeq, r.Revision} }
