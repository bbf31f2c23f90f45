package projections

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
)

// tableRuns holds the runs of workflows. due_at of an open run is the time of its next step: that
// of its first action while it waits, else that of its last event. noted_at is the time of the
// trigger while it waits, else that of its last event. The partial indexes hold open runs only.
const tableRuns = `
CREATE TABLE runs (
	id         TEXT    NOT NULL UNIQUE,
	account    TEXT    NOT NULL,
	workflow   TEXT    NOT NULL,
	status     TEXT    NOT NULL,
	revision   INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	noted_at   INTEGER NOT NULL,
	due_at     INTEGER
);
CREATE INDEX runs_status ON runs (account, workflow, status, started_at, id);
CREATE INDEX runs_due ON runs (workflow, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX runs_noted ON runs (noted_at, id) WHERE due_at IS NOT NULL;
`

const (
	upsertRun = `INSERT INTO runs (id, account, workflow, status, revision, started_at, noted_at, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, revision = excluded.revision, noted_at = excluded.noted_at,
		due_at = excluded.due_at`
	selectRuns = `SELECT account, id, revision, NULL, started_at FROM runs INDEXED BY runs_status WHERE account = ? AND workflow = ? AND status = ?
		AND (started_at, id) < (?, ?) ORDER BY started_at DESC, id DESC LIMIT ?`
	// selectCount counts at most so many runs of a status.
	selectCount    = `SELECT count(*) FROM (SELECT 1 FROM runs INDEXED BY runs_status WHERE account = ? AND workflow = ? AND status = ? LIMIT ?)`
	selectOpenRuns = `SELECT account, id, revision, due_at FROM runs INDEXED BY runs_due WHERE workflow = ? AND due_at IS NOT NULL AND due_at <= ?
		AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?`
	selectAheadRuns = `SELECT account, id, revision, noted_at FROM runs INDEXED BY runs_noted WHERE due_at IS NOT NULL AND (noted_at, id) > (?, ?)
		ORDER BY noted_at, id LIMIT ?`
	// selectNextDue steps from workflow to workflow along the index.
	selectNextDue = `SELECT workflow, min(due_at) FROM runs INDEXED BY runs_due WHERE due_at IS NOT NULL
		AND workflow = (SELECT min(workflow) FROM runs INDEXED BY runs_due WHERE due_at IS NOT NULL AND workflow > ?)`
)

func rowOfRun(v *view[workflow.RunState]) []any {
	s := &v.state
	row := []any{
		v.key.ID, string(v.key.Account), string(s.Workflow.ID), string(s.Status()),
		int64(v.revision), s.StartedAt.UnixMicro(), notedOf(s), nil,
	}
	if due := dueOf(s); due.Valid {
		row[len(row)-1] = due.Int64
	}
	return row
}

func dueOf(s *workflow.RunState) (due sql.NullInt64) {
	switch {
	case s.Status() == workflow.Waiting:
		return sql.NullInt64{Int64: s.DueAt.UnixMicro(), Valid: true}
	case s.Open():
		return sql.NullInt64{Int64: s.UpdatedAt.UnixMicro(), Valid: true}
	}
	return due
}

func notedOf(s *workflow.RunState) int64 {
	if s.Status() == workflow.Waiting {
		return s.Trigger.At.UnixMicro()
	}
	return s.UpdatedAt.UnixMicro()
}

// Runs reads a page of at most limit runs of a workflow in one of some statuses, none: in any,
// after from; nil is the newest end. It has all that this node acknowledged.
func (p *Projections) Runs(ctx context.Context, account domain.AccountID, id domain.WorkflowID, statuses []workflow.Status, from *listing.Place, limit int) (listing.Page[workflow.RunState], error) {
	return current(ctx, p, func(ctx context.Context) (page listing.Page[workflow.RunState], err error) {
		at, after := maxMicros, ""
		if from != nil {
			at, after = from.At.UnixMicro(), from.ID
		}
		of := workflow.Statuses
		if len(statuses) > 0 {
			of = slices.Compact(slices.Sorted(slices.Values(statuses)))
		}
		var selects []string
		var args []any
		for _, status := range of { // one of each, in the index's order
			selects = append(selects, "SELECT * FROM ("+selectRuns+")")
			args = append(args, string(account), string(id), string(status), at, after, limit+1)
		}
		query := "SELECT account, id, revision, NULL FROM (" + strings.Join(selects, " UNION ALL ") + ") ORDER BY started_at DESC, id DESC LIMIT ?"
		rows, err := p.runRows(ctx, query, append(args, limit+1)...)
		if err != nil {
			return page, err
		}
		found, err := p.runs(ctx, rows)
		page = listing.PageOf(found, limit, func(s workflow.RunState) *listing.Place {
			return &listing.Place{At: s.StartedAt, ID: string(s.ID)}
		})
		page.Data = slices.DeleteFunc(page.Data, func(s workflow.RunState) bool { return !slices.Contains(of, s.Status()) })
		return page, err
	})
}

// CountRuns counts the runs of a workflow by status, of each status at most so many.
func (p *Projections) CountRuns(ctx context.Context, account domain.AccountID, id domain.WorkflowID, most int) (map[workflow.Status]int, error) {
	return current(ctx, p, func(ctx context.Context) (map[workflow.Status]int, error) {
		m, done := p.reading()
		defer done()
		counts := map[workflow.Status]int{}
		for _, status := range workflow.Statuses {
			var n int
			if err := m.Readers().QueryRowContext(ctx, selectCount, string(account), string(id), string(status), most).Scan(&n); err != nil {
				return nil, fmt.Errorf("projections: count of runs: %w", m.Noticed(err))
			}
			counts[status] = n
		}
		return counts, nil
	})
}

// FindRun reads one run, linearizable as Payment. The zero value: the account has no such run.
func (p *Projections) FindRun(ctx context.Context, account domain.AccountID, id domain.RunID) (workflow.RunState, error) {
	return newest(ctx, p, eventstore.WorkflowRuns, account, string(id))
}

const maxMicros = int64(1<<63 - 1)

// DueWorkflows lists the workflows with open runs that are due at a time, with everything that this
// node knew before the call.
func (p *Projections) DueWorkflows(ctx context.Context, due time.Time) (found []domain.WorkflowID, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := p.appendedHere(ctx); err != nil {
		return nil, err
	}
	m, done := p.reading()
	defer done()
	for last := ""; ; {
		var id sql.NullString
		var first sql.NullInt64
		if err := m.Readers().QueryRowContext(ctx, selectNextDue, last).Scan(&id, &first); err != nil {
			return nil, fmt.Errorf("projections: workflows with open runs: %w", m.Noticed(err))
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

// OpenRuns lists at most limit open runs of a workflow that are due at a time, the longest due
// first, after the run that is due since and has the id after; the zero values give the first. A
// run that has changed since its row was written is left out.
func (p *Projections) OpenRuns(ctx context.Context, id domain.WorkflowID, due, since time.Time, after domain.RunID, limit int) ([]workflow.RunState, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	kept, from := []workflow.RunState{}, since.UnixMicro()
	for {
		want := limit - len(kept)
		rows, err := p.runRows(ctx, selectOpenRuns, string(id), due.UnixMicro(), from, string(after), want)
		if err != nil {
			return nil, err
		}
		states, err := p.runs(ctx, rows)
		if err != nil {
			return nil, err
		}
		for i := range states {
			if dueOf(&states[i]) == rows[i].due {
				kept = append(kept, states[i])
			}
		}
		if len(rows) < want || len(kept) == limit {
			return kept, nil
		}
		last := rows[len(rows)-1]
		from, after = last.due.Int64, domain.RunID(last.key.ID)
	}
}

// AheadRuns lists at most limit open runs noted after a time and a run, by that time: the clock was
// set back.
func (p *Projections) AheadRuns(ctx context.Context, noted time.Time, after domain.RunID, limit int) ([]workflow.RunState, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	rows, err := p.runRows(ctx, selectAheadRuns, noted.UnixMicro(), string(after), limit)
	if err != nil {
		return nil, err
	}
	return p.runs(ctx, rows)
}

type runRow struct {
	rowKey
	due sql.NullInt64
}

func (p *Projections) runRows(ctx context.Context, query string, args ...any) ([]runRow, error) {
	return rowsOf(ctx, p, "runs", func(scan sqlitefile.Scan) (row runRow, err error) {
		var account domain.AccountID
		var id string
		err = scan(&account, &id, &row.revision, &row.due)
		row.key = eventstore.WorkflowRuns.Key(account, id)
		return row, err
	}, query, args...)
}

func (p *Projections) runs(ctx context.Context, rows []runRow) ([]workflow.RunState, error) {
	keys := make([]rowKey, len(rows))
	for i, row := range rows {
		keys[i] = row.rowKey
	}
	states, err := tips(ctx, p.Store, eventstore.WorkflowRuns, keys)
	if err != nil {
		return nil, fmt.Errorf("projections: runs: %w", err)
	}
	return states, nil
}
