package projections

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
)

// tableRuns holds the runs of workflows. due_at is when a run that is not over has something to do: its first action's
// time, or when something last happened to it; the partial index is as small as the work under way.
const tableRuns = `
CREATE TABLE runs (
	id         TEXT    NOT NULL UNIQUE,
	account    TEXT    NOT NULL,
	workflow   TEXT    NOT NULL,
	status     TEXT    NOT NULL,
	started_at INTEGER NOT NULL,
	due_at     INTEGER,
	state      BLOB    NOT NULL
);
CREATE INDEX runs_started ON runs (account, workflow, started_at, id);
CREATE INDEX runs_due ON runs (workflow, due_at, id) WHERE due_at IS NOT NULL;
`

const (
	upsertRun = `INSERT INTO runs (id, account, workflow, status, started_at, due_at, state) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, due_at = excluded.due_at, state = excluded.state`
	selectRuns = `SELECT state FROM runs INDEXED BY runs_started WHERE account = ? AND workflow = ?
		AND (started_at, id) < (?, ?) ORDER BY started_at DESC, id DESC LIMIT ?`
	selectOpenRuns = `SELECT state FROM runs INDEXED BY runs_due WHERE workflow = ? AND due_at IS NOT NULL AND due_at <= ?
		AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?`
	// selectNextDue steps from workflow to workflow along the index.
	selectNextDue = `SELECT workflow, min(due_at) FROM runs INDEXED BY runs_due WHERE due_at IS NOT NULL
		AND workflow = (SELECT min(workflow) FROM runs INDEXED BY runs_due WHERE due_at IS NOT NULL AND workflow > ?)`
)

// writeRuns writes the newest rows of runs.
func (m *model) writeRuns(ctx context.Context, b *batch) error {
	for i := range b.runs.list {
		v := &b.runs.list[i]
		s := &v.state
		var due any
		switch {
		case s.Status() == workflow.Waiting:
			due = s.DueAt.UnixMicro()
		case s.Open():
			due = s.UpdatedAt.UnixMicro()
		}
		_, err := m.statements.upsertRun.ExecContext(ctx, v.key.ID, string(v.key.Account), string(s.Workflow.ID), string(s.Status()),
			s.StartedAt.UnixMicro(), due, v.raw)
		if err != nil {
			return err
		}
	}
	return nil
}

// RunPlace is where a page of runs begins: after the run that began then.
type RunPlace struct {
	At time.Time
	ID domain.RunID
}

// Runs reads a page of a workflow's runs, newest first, at most limit, from a place on; nil is the newest end. next is
// where the one after it begins, nil at the end. It shows what is applied, and everything that was acknowledged on this
// node before the call.
func (p *Projections) Runs(ctx context.Context, account domain.AccountID, id domain.WorkflowID, from *RunPlace, limit int) (page []workflow.RunState, next *RunPlace, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := p.appendedHere(ctx); err != nil {
		return nil, nil, unavailable(err)
	}
	at, after := maxMicros, ""
	if from != nil {
		at, after = from.At.UnixMicro(), string(from.ID)
	}
	page, err = p.runs(ctx, selectRuns, string(account), string(id), at, after, limit+1)
	if err != nil {
		return nil, nil, unavailable(err)
	}
	if len(page) > limit {
		page = page[:limit]
		next = &RunPlace{At: page[limit-1].StartedAt, ID: page[limit-1].ID}
	}
	return page, next, nil
}

// maxMicros is later than every time.
const maxMicros = int64(1<<63 - 1)

// DueWorkflows lists the workflows that have runs which are not over and have something to do by a time. Everything
// that this node knew to be in the log before the call is in it.
func (p *Projections) DueWorkflows(ctx context.Context, due time.Time) (found []domain.WorkflowID, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := p.appendedHere(ctx); err != nil {
		return nil, err
	}
	for last := ""; ; {
		var id sql.NullString
		var first sql.NullInt64
		if err := p.model.readers.QueryRowContext(ctx, selectNextDue, last).Scan(&id, &first); err != nil {
			return nil, fmt.Errorf("projections: workflows with open runs: %w", p.model.noticed(err))
		}
		if !id.Valid {
			return found, nil
		}
		if first.Int64 <= due.UnixMicro() {
			found = append(found, domain.WorkflowID(id.String))
		}
		last = id.String
	}
}

// OpenRuns lists a workflow's runs that are not over and have something to do by a time, the longest due first, at
// most limit of them, from behind a run that is due since a time on; the zero time and "" give the first.
func (p *Projections) OpenRuns(ctx context.Context, id domain.WorkflowID, due, since time.Time, after domain.RunID, limit int) ([]workflow.RunState, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return p.runs(ctx, selectOpenRuns, string(id), due.UnixMicro(), since.UnixMicro(), string(after), limit)
}

func (p *Projections) runs(ctx context.Context, query string, args ...any) ([]workflow.RunState, error) {
	rows, err := p.model.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("projections: runs: %w", p.model.noticed(err))
	}
	defer rows.Close()
	found := []workflow.RunState{}
	for rows.Next() {
		var raw sql.RawBytes
		var s workflow.RunState
		if err := rows.Scan(&raw); err != nil {
			return nil, fmt.Errorf("projections: runs: %w", p.model.noticed(err))
		}
		if err := eventstore.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("projections: runs: %w", err)
		}
		found = append(found, s)
	}
	return found, p.model.noticed(rows.Err())
}
