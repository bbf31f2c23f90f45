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

const fileName = "deliveries.sqlite"

// Mark identifies the last record of the stream that the index has applied.
type Mark struct {
	Seq  uint64 // 0: no record was applied
	Name string
	Hash [sha256.Size]byte // of the record's bytes
}

// Index is the index of deliveries. Only one goroutine may call Apply and Reset. All other methods are safe for concurrent
// use.
type Index struct {
	file                            *sqlitefile.File
	row, mark, clearRows, clearMark *sql.Stmt
	progress                        *progress
}

// Open opens or creates the index in a folder. It replaces an unusable file by an empty one with the zero Mark.
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

// SizeCache sets the size of the writer's page cache in bytes. Call it before other methods.
func (x *Index) SizeCache(ctx context.Context, bytes int64) error {
	return x.file.SizeCache(ctx, bytes)
}

func (x *Index) prepare(ctx context.Context) error {
	return x.file.Prepare(ctx, map[**sql.Stmt]string{
		&x.row: upsertRow, &x.mark: upsertMark, &x.clearRows: deleteRows, &x.clearMark: deleteMark,
	})
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

// Apply writes rows and the mark of the last record in one transaction. The rows are in the order of their records.
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

// Reset deletes all rows and the mark, for another stream.
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

// transact runs do in one transaction. Once the transaction has begun, the end of ctx does not interrupt it.
func (x *Index) transact(ctx context.Context, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole := context.WithoutCancel(ctx)
	return sqlitefile.WhenRoom(ctx, func() error {
		if err := x.file.Transact(whole, func() error { return do(whole) }); err != nil {
			return fmt.Errorf("deliveries: %w", err)
		}
		return nil
	})
}

func (x *Index) write(ctx context.Context, r *Row) error {
	_, err := x.row.ExecContext(ctx, r.ID, r.Name, int64(r.Seq), string(r.Account), string(r.Endpoint), r.EventType,
		r.EventID, r.Aggregate, r.AggregateID, r.Status, micros(r.PlannedAt), micros(r.UpdatedAt), micros(r.NextAt),
		r.Attempts, r.StatusCode, r.Failure)
	return err
}

// Find returns the account's delivery with an id, and reports whether the index has it. Find does not wait for newer records.
func (x *Index) Find(ctx context.Context, account domain.AccountID, id string) (Row, bool, error) {
	r, err := scanRow(x.file.Readers().QueryRowContext(ctx, selectRow, id, string(account)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("deliveries: %w", x.file.Noticed(err))
	}
	return r, true, nil
}

// Close closes the file. Do not call Apply or Reset afterwards.
func (x *Index) Close() error { return x.file.Close() }
