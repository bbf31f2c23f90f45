package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// Version is one version of a workflow, with the change that made it.
type Version struct {
	Number     int64
	Definition workflow.Definition
	At         time.Time
	Actor      string
}

// mostRead bounds the changes of the account's workflows that one page of versions reads.
const mostRead = 500

// Versions returns at most limit versions of a workflow, newest first. from is the address of the
// change to begin at, 0 for the newest one. next is the from of the next page; 0: there is none. A
// page may be short if the account's other workflows changed often.
func (e *Engine) Versions(ctx context.Context, account domain.AccountID, id domain.WorkflowID, from uint64, limit int) (found []Version, next uint64, err error) {
	key := eventstore.Workflows.Key(account, string(account))
	var r *eventstore.Recorded
	if from == 0 {
		r, err = e.Store.Load(ctx, key, eventstore.Latest)
	} else {
		r, err = e.Store.Read(ctx, e.Store.ShardOf(key), from)
	}
	if errors.Is(err, eventstore.ErrNotFound) && from == 0 {
		return nil, 0, nil
	}
	for read := 1; err == nil; read++ {
		if r.Key != key {
			return nil, 0, fmt.Errorf("workflows: %w: %s has no change at sequence %d", eventstore.ErrUnhealthy, key, r.Seq)
		}
		v, is, fault := versionOf(r, id)
		if fault != nil {
			return nil, 0, fault
		}
		if is {
			found = append(found, v)
		}
		switch {
		case is && v.Number == 1, r.PrevSeq == 0:
			return found, 0, nil
		case len(found) == limit, read == mostRead:
			return found, r.PrevSeq, nil
		}
		r, err = e.Store.Read(ctx, r.Shard, r.PrevSeq)
	}
	return nil, 0, err
}

// versionOf returns the version that an event made; false for an event that made no version of this
// workflow.
func versionOf(r *eventstore.Recorded, id domain.WorkflowID) (Version, bool, error) {
	fact, err := eventstore.Workflows.Event(r)
	v := Version{At: r.Time, Actor: r.Actor}
	switch e := fact.(type) {
	case workflow.Created:
		v.Number, v.Definition = 1, e.Definition
		return v, e.ID == id, err
	case workflow.Changed:
		v.Number, v.Definition = e.Version, e.Definition
		return v, e.ID == id, err
	default:
		return v, false, err
	}
}
