package deliveries

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/projections/sqlitefile"
)

// FileName is the name of the index's file in its folder.
const FileName = "deliveries.sqlite"

// Mark identifies the last record of the stream that the index has applied.
type Mark struct {
	Seq  uint64 // 0: no record was applied
	Name string
	Hash [sha256.Size]byte // of the record's bytes
}

// Index is the index of deliveries, safe for concurrent use. Only one goroutine may call Apply and
// Reset.
type Index struct {
	*writer  // in use; switching guards it
	dir      string
	cache    int64
	progress *progress
	log      zerolog.Logger

	switching  sync.Mutex // held for a moment
	applying   sync.Mutex // held while the file in use is changed, or exchanged
	rebuilding sync.Mutex // held by Rebuild
}

type writer struct {
	file    *sqlitefile.File
	counter *counter // of the goroutine that writes

	reads   int  // under way; Index.switching guards both
	retired bool // another file is in use
}

// Open opens or creates the index in a folder. It replaces an unusable file by an empty one with
// the zero Mark.
func Open(ctx context.Context, dir string, log zerolog.Logger) (*Index, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("deliveries: %w", err)
	}
	path, err := sqlitefile.Settle(ctx, filepath.Join(dir, FileName), Identity)
	if err != nil {
		return nil, err
	}
	file, err := sqlitefile.Open(ctx, path, Identity, Tables, log)
	if err != nil {
		return nil, err
	}
	w, at, err := writerOf(ctx, file)
	if err != nil {
		return nil, err
	}
	x := &Index{writer: w, dir: dir, log: log, progress: newProgress(at)}
	return x, nil
}

// SizeCache sets the size of the writer's page cache in bytes. Call it before other methods.
func (x *Index) SizeCache(ctx context.Context, bytes int64) error {
	x.cache = bytes
	return x.file.SizeCache(ctx, bytes)
}

// writerOf prepares a file, and returns its mark. After an error the file is closed.
func writerOf(ctx context.Context, file *sqlitefile.File) (*writer, Mark, error) {
	w := &writer{file: file, counter: newCounter(file.Statements)}
	err := file.Prepare(ctx, statements()...)
	var at Mark
	if err == nil {
		if at, err = ReadMark(ctx, file.Writer()); err != nil {
			err = fmt.Errorf("deliveries: mark: %w", err)
		}
	}
	if err != nil {
		return nil, at, errors.Join(file.Noticed(err), file.Close())
	}
	return w, at, nil
}

// ReadMark returns the mark in a file; the zero value if the file has none.
func ReadMark(ctx context.Context, file interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (at Mark, err error) {
	var hash []byte
	err = file.QueryRowContext(ctx, selectMark).Scan(&at.Seq, &at.Name, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return at, nil
	}
	if err != nil {
		return at, err
	}
	copy(at.Hash[:], hash)
	return at, nil
}

// Apply writes rows and the mark of the last record in one transaction. The rows are in the order
// of their records. After an error nothing more is applied (Stop).
func (x *Index) Apply(ctx context.Context, rows []Row, to Mark) error {
	x.applying.Lock()
	defer x.applying.Unlock()
	if at := x.Mark(); to.Seq < at.Seq { // a rebuild has read further: the mark never moves back
		to = at
	}
	err := x.apply(ctx, rows, to)
	if err == nil {
		x.progress.set(to)
	} else if ctx.Err() == nil {
		x.Stop(err) // before a rebuild that waits for the lock goes on
	}
	return err
}

func (w *writer) apply(ctx context.Context, rows []Row, to Mark) error {
	newest := make(map[string]int, len(rows))
	for i := range rows {
		newest[rows[i].ID] = i
	}
	return w.transact(ctx, func(ctx context.Context) error {
		for i := range rows {
			if newest[rows[i].ID] != i {
				continue
			}
			if err := w.write(ctx, &rows[i]); err != nil {
				return err
			}
		}
		if err := w.counter.save(ctx); err != nil {
			return err
		}
		_, err := w.file.Statements[upsertMark].ExecContext(ctx, int64(to.Seq), to.Name, to.Hash[:])
		return err
	})
}

// Reset deletes all rows, the counts and the mark, for another stream.
func (x *Index) Reset(ctx context.Context) error {
	x.applying.Lock()
	defer x.applying.Unlock()
	err := x.transact(ctx, func(ctx context.Context) error {
		_, err := x.file.Writer().ExecContext(ctx, deleteAll)
		return err
	})
	if err != nil {
		return err
	}
	x.counter = newCounter(x.file.Statements)
	x.progress.set(Mark{})
	return nil
}

// transact runs do in one transaction. Once the transaction has begun, the end of ctx does not
// interrupt it. After an error the counter knows nothing: it may be ahead of the file.
func (w *writer) transact(ctx context.Context, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole := context.WithoutCancel(ctx)
	return sqlitefile.WhenRoom(ctx, func() error {
		if err := w.file.Transact(whole, func() error { return do(whole) }); err != nil {
			w.counter = newCounter(w.file.Statements)
			return fmt.Errorf("deliveries: %w", err)
		}
		return nil
	})
}

// write inserts a row, or changes the row of an older record, and counts it. The counter must be
// saved before the transaction ends.
func (w *writer) write(ctx context.Context, r *Row) error {
	before, known := w.counter.known(r.ID)
	if !known {
		made, err := changed(w.file.Statements[insertRow].ExecContext(ctx, Values(r)...))
		if err != nil {
			return err
		}
		if made {
			return w.counter.count(ctx, r.ID, nil, factsOf(r, micros(r.PlannedAt)))
		}
		if before, err = w.counter.read(ctx, r.ID); err != nil {
			return err
		}
	}
	made, err := changed(w.file.Statements[updateRow].ExecContext(ctx, int64(r.Seq), r.Status, micros(r.UpdatedAt), micros(r.NextAt),
		int64(r.Attempts), int64(r.StatusCode), r.Failure, int64(r.Failed), micros(r.SucceededAt), int64(r.SucceededBy), r.ID))
	if err != nil || !made {
		return err
	}
	return w.counter.count(ctx, r.ID, &before, factsOf(r, before.planned))
}

// changed reports whether a statement changed a row.
func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Values returns the values of a row, in the order of Columns.
func Values(r *Row) []any {
	return []any{
		r.ID, r.Name, int64(r.Seq), string(r.Account), string(r.Endpoint), r.EventType,
		r.EventID, r.Aggregate, r.AggregateID, r.Status, micros(r.PlannedAt), micros(r.UpdatedAt), micros(r.NextAt),
		int64(r.Attempts), int64(r.StatusCode), r.Failure, int64(r.Failed), micros(r.SucceededAt), int64(r.SucceededBy),
	}
}

// WithRows calls do with connections that only read the file.
func (x *Index) WithRows(_ context.Context, do func(*sql.DB) error) error {
	w, done := x.reading()
	defer done()
	return do(w.file.Readers())
}

// Healthy returns an error if a read or a write has found the file damaged: lists of deliveries are
// wrong or cannot be read.
func (x *Index) Healthy() error {
	w, done := x.reading()
	defer done()
	return w.file.Healthy()
}

// Find returns the account's delivery with an id, and reports whether the index has it. Find does
// not wait for newer records.
func (x *Index) Find(ctx context.Context, account domain.AccountID, id string) (Row, bool, error) {
	w, done := x.reading()
	defer done()
	r, err := scanRow(w.file.Readers().QueryRowContext(ctx, selectRow, id, string(account)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("deliveries: %w", w.file.Noticed(err))
	}
	return r, true, nil
}

// Close closes the file. Do not call Apply or Reset afterwards.
func (x *Index) Close() error {
	x.rebuilding.Lock() // the context of a rebuild has ended
	defer x.rebuilding.Unlock()
	return x.file.Close()
}
