package deliveries

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/projections/sqlitefile"
)

// fileName is the index's file in the folder of the views.
const fileName = "deliveries.sqlite"

// Mark is the last record of the stream that was applied.
type Mark struct {
	Seq  uint64 // 0: none was
	Name string
	Hash [sha256.Size]byte // of its bytes
}

// Index is the index of deliveries. Apply and Reset are for one goroutine, all else for any.
type Index struct {
	file       *sqlitefile.File
	statements []*sql.Stmt // all that are prepared
	begin, commit, rollback, row, mark,
	clearRows, clearMark *sql.Stmt
	progress *progress
}

// Open opens the index in a folder, or creates it. It replaces an unusable file by an empty one, whose mark is zero.
func Open(ctx context.Context, dir string, log zerolog.Logger) (*Index, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("deliveries: %w", err)
	}
	file, err := sqlitefile.Open(ctx, filepath.Join(dir, fileName), identity, tables, log)
	if err != nil {
		return nil, err
	}
	x := &Index{file: file, progress: &progress{changed: make(chan struct{})}}
	for _, step := range []func(context.Context) error{x.prepare, x.load} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(file.Noticed(err), x.Close())
		}
	}
	return x, nil
}

// SizeCache changes the page cache of the index's writer to so many bytes. It is called before the index is used.
func (x *Index) SizeCache(ctx context.Context, bytes int64) error {
	return x.file.SizeCache(ctx, bytes)
}

func (x *Index) prepare(ctx context.Context) error {
	for _, p := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&x.begin, "BEGIN IMMEDIATE"}, {&x.commit, "COMMIT"}, {&x.rollback, "ROLLBACK"}, {&x.row, upsertRow},
		{&x.mark, upsertMark}, {&x.clearRows, deleteRows}, {&x.clearMark, deleteMark},
	} {
		statement, err := x.file.Writer().PrepareContext(ctx, p.sql) //nolint:sqlclosecheck // Close closes them all
		if err != nil {
			return fmt.Errorf("deliveries: prepare: %w", err)
		}
		*p.to = statement
		x.statements = append(x.statements, statement)
	}
	return nil
}

func (x *Index) load(ctx context.Context) error {
	var hash []byte
	var at Mark
	err := x.file.Writer().QueryRowContext(ctx, selectMark).Scan(&at.Seq, &at.Name, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deliveries: mark: %w", err)
	}
	copy(at.Hash[:], hash)
	x.progress.set(at)
	return nil
}

// Apply writes rows, in the order of their records, and the mark of the last record, in one transaction: a crash at
// any moment leaves all of it or nothing.
func (x *Index) Apply(ctx context.Context, rows []Row, to Mark) error {
	newest := make(map[string]int, len(rows))
	for i := range rows {
		newest[rows[i].ID] = i
	}
	err := x.transact(ctx, func(ctx context.Context) error {
		for i := range rows {
			if newest[rows[i].ID] != i {
				continue
			}
			if err := x.write(ctx, &rows[i]); err != nil {
				return err
			}
		}
		_, err := x.mark.ExecContext(ctx, int64(to.Seq), to.Name, to.Hash[:])
		return err
	})
	if err != nil {
		return err
	}
	x.progress.set(to)
	return nil
}

// Reset forgets everything: the stream is another one than it was.
func (x *Index) Reset(ctx context.Context) error {
	err := x.transact(ctx, func(ctx context.Context) error {
		if _, err := x.clearRows.ExecContext(ctx); err != nil {
			return err
		}
		_, err := x.clearMark.ExecContext(ctx)
		return err
	})
	if err != nil {
		return err
	}
	x.progress.set(Mark{})
	return nil
}

// transact does all of it or nothing; what was begun is not cut by ctx.
func (x *Index) transact(ctx context.Context, do func(context.Context) error) error {
	return sqlitefile.WhenRoom(ctx, func() error { return x.transactOnce(ctx, do) })
}

func (x *Index) transactOnce(ctx context.Context, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	_, err := x.begin.ExecContext(ctx)
	if err != nil {
		return x.file.Noticed(fmt.Errorf("deliveries: begin: %w", err))
	}
	if err = do(ctx); err == nil {
		_, err = x.commit.ExecContext(ctx)
	}
	if err == nil {
		return nil
	}
	_, rollbackErr := x.rollback.ExecContext(ctx)
	return errors.Join(x.file.Noticed(fmt.Errorf("deliveries: write: %w", err)), rollbackErr)
}

func (x *Index) write(ctx context.Context, r *Row) error {
	_, err := x.row.ExecContext(ctx, r.ID, r.Name, int64(r.Seq), string(r.Account), string(r.Endpoint), r.EventType,
		r.EventID, r.Aggregate, r.AggregateID, r.Status, micros(r.PlannedAt), micros(r.UpdatedAt), micros(r.NextAt),
		r.Attempts, r.StatusCode, r.Failure)
	return err
}

// Find gives a delivery of the account by its id, as far as the index has come.
func (x *Index) Find(ctx context.Context, account domain.AccountID, id string) (Row, bool, error) {
	r, err := scan(x.file.Readers().QueryRowContext(ctx, selectRow, id, string(account)))
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("deliveries: %w", x.file.Noticed(err))
	}
	return r, true, nil
}

// Close closes the file. Nothing may be applied any more.
func (x *Index) Close() error {
	var errs []error
	for _, s := range x.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, x.file.Close())...)
}
