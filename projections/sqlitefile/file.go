package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrStale means that the file does not fit its identity or its own content: it has to be rebuilt.
var ErrStale = errors.New("the file has to be rebuilt")

const (
	// writerCache is the writer's page cache in KiB: the index on ids is read at random places.
	writerCache = 32 << 10
	// checkpointPages is the size of the write-ahead log at which it is copied into the file. Only
	// then is the disk synced, which the log of events needs more.
	checkpointPages = 8192
	// busyMilliseconds bounds the wait for a lock of SQLite. There is one writer, so that the wait
	// is short.
	busyMilliseconds = 10_000
)

const (
	tableMeta      = "CREATE TABLE meta (identity TEXT NOT NULL);\n"
	selectIdentity = `SELECT identity FROM meta`
	insertIdentity = `INSERT INTO meta (identity) VALUES (?)`
	selectTables   = `SELECT count(*) FROM sqlite_schema`
)

// File is a SQLite file with one writer and several readers.
type File struct {
	Statements map[string]*sql.Stmt // on the writer, by their texts; Prepare prepares them
	path       string
	readers    *sql.DB
	writers    *sql.DB
	conn       *sql.Conn   // the one writing connection
	corrupt    atomic.Bool // damaged: Close removes the file, and the next Open rebuilds it
}

// The statements of a transaction.
const (
	begin    = "BEGIN IMMEDIATE"
	commit   = "COMMIT"
	rollback = "ROLLBACK"
)

// Open opens the file at path, or creates it. identity names everything that a row depends on; a
// damaged or other file is created again.
func Open(ctx context.Context, path, identity, tables string, log zerolog.Logger) (*File, error) {
	return Rebuilt(path, log, func() (*File, error) { return openOnce(ctx, path, identity, tables) })
}

// Rebuilt calls open. If the file at path is Unusable, it removes the file and calls open again.
func Rebuilt[T any](path string, log zerolog.Logger, open func() (T, error)) (T, error) {
	opened, err := open()
	if err == nil || !Unusable(err) {
		return opened, err
	}
	log.Warn().Err(err).Str("file", path).Msg("the file is removed and built again")
	if err := Remove(path); err != nil {
		return opened, err
	}
	return open()
}

func openOnce(ctx context.Context, path, identity, tables string) (*File, error) {
	f := &File{path: path, Statements: map[string]*sql.Stmt{}}
	if err := f.open(ctx, identity, tables); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Path is the path of the file.
func (f *File) Path() string { return f.path }

// Writer is the one writing connection, for one goroutine.
func (f *File) Writer() *sql.Conn { return f.conn }

// Readers are connections that only read.
func (f *File) Readers() *sql.DB { return f.readers }

func (f *File) open(ctx context.Context, identity, tables string) (err error) {
	if f.writers, err = sql.Open("sqlite", dsn(f.path, "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(ON)",
		fmt.Sprintf("cache_size(-%d)", writerCache), fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages))); err != nil {
		return fmt.Errorf("sqlitefile: open %s: %w", f.path, err)
	}
	f.writers.SetMaxOpenConns(1)
	if f.conn, err = f.writers.Conn(ctx); err != nil {
		return fmt.Errorf("sqlitefile: open %s: %w", f.path, err)
	}
	if err := f.identify(ctx, identity, tables); err != nil {
		return err
	}
	if err := f.Prepare(ctx, begin, commit, rollback); err != nil {
		return err
	}
	if err := os.Chmod(f.path, 0o600); err != nil {
		return fmt.Errorf("sqlitefile: %w", err)
	}
	if f.readers, err = sql.Open("sqlite", dsn(f.path, "query_only(ON)")); err != nil {
		return fmt.Errorf("sqlitefile: open %s: %w", f.path, err)
	}
	n := max(4, runtime.GOMAXPROCS(0))
	f.readers.SetMaxOpenConns(n)
	f.readers.SetMaxIdleConns(n)
	return nil
}

// dsn escapes the path, so that no character of it counts as an option.
func dsn(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyMilliseconds)}, pragmas...)}
	return (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: q.Encode()}).String()
}

// SizeCache sets the size of the writer's page cache in bytes; 0 leaves it at writerCache.
func (f *File) SizeCache(ctx context.Context, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	if _, err := f.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA cache_size(-%d)", max(1, bytes>>10))); err != nil {
		return fmt.Errorf("sqlitefile: page cache of %s: %w", f.path, err)
	}
	return nil
}

func (f *File) identify(ctx context.Context, identity, tables string) error {
	var n int
	if err := f.conn.QueryRowContext(ctx, selectTables).Scan(&n); err != nil {
		return fmt.Errorf("sqlitefile: read %s: %w", f.path, err)
	}
	if n == 0 {
		return f.create(ctx, identity, tables)
	}
	var found string
	if err := f.conn.QueryRowContext(ctx, selectIdentity).Scan(&found); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	if found != identity {
		return fmt.Errorf("%w: it is %q, not %q", ErrStale, found, identity)
	}
	return nil
}

func (f *File) create(ctx context.Context, identity, tables string) error {
	tx, err := f.conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlitefile: create %s: %w", f.path, err)
	}
	if _, err = tx.ExecContext(ctx, tableMeta+tables); err == nil {
		_, err = tx.ExecContext(ctx, insertIdentity, identity)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("sqlitefile: create %s: %w", f.path, err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlitefile: create %s: %w", f.path, err)
	}
	return nil
}

// Prepare prepares statements on the writer. Close closes them.
func (f *File) Prepare(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		prepared, err := f.conn.PrepareContext(ctx, text) //nolint:sqlclosecheck // Close closes them all
		if err != nil {
			return fmt.Errorf("sqlitefile: prepare: %w", err)
		}
		f.Statements[text] = prepared
	}
	return nil
}

// Transact runs write in one transaction on the writer. COMMIT is the commit point: before it,
// nothing of write counts.
func (f *File) Transact(ctx context.Context, write func() error) error {
	_, err := f.Statements[begin].ExecContext(ctx)
	if err != nil {
		return f.Noticed(fmt.Errorf("begin: %w", err))
	}
	if err = write(); err == nil {
		_, err = f.Statements[commit].ExecContext(ctx)
	}
	if err == nil {
		return nil
	}
	_, rollbackErr := f.Statements[rollback].ExecContext(ctx)
	return errors.Join(f.Noticed(fmt.Errorf("write: %w", err)), rollbackErr)
}

// Scan reads the columns of the current row.
type Scan = func(columns ...any) error

// Queryer is a *sql.DB, *sql.Conn or *sql.Tx.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Read runs a query and reads each of its rows.
func Read[T any](ctx context.Context, from Queryer, read func(Scan) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := Rows(from.QueryContext(ctx, query, args...)).Each(func(scan Scan) error {
		one, err := read(scan)
		all = append(all, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Result is the result of a query.
type Result struct {
	rows *sql.Rows
	err  error
}

// Rows returns the result of a query, given what QueryContext returns.
func Rows(rows *sql.Rows, err error) Result { return Result{rows, err} }

// Each calls read with each row, until read returns an error. It returns that error, or that of the
// query.
func (r Result) Each(read func(Scan) error) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	for r.rows.Next() {
		if err := read(r.rows.Scan); err != nil {
			return err
		}
	}
	return r.rows.Err()
}

// Noticed returns err. If err shows that the file is damaged, Close removes the file.
func (f *File) Noticed(err error) error {
	if Unusable(err) {
		f.corrupt.Store(true)
	}
	return err
}

// Healthy returns an error after Noticed was called with an error that shows that the file is
// damaged.
func (f *File) Healthy() error {
	if !f.corrupt.Load() {
		return nil
	}
	return fmt.Errorf("%s is damaged: restart the service, which makes it again from the log (after a kill of the service, remove the file first)", f.path)
}

// Unusable reports whether err means that the file has to be rebuilt.
func Unusable(err error) bool {
	if errors.Is(err, ErrStale) {
		return true
	}
	code := primaryCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// primaryCode returns SQLite's code of an error without its details; SQLITE_OK for any other error.
func primaryCode(err error) int {
	if e, is := errors.AsType[*sqlite.Error](err); is {
		return e.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

const fullPause = 200 * time.Millisecond

// WhenRoom calls write, and repeats it while the disk is full, until ctx ends.
func WhenRoom(ctx context.Context, write func() error) error {
	for {
		err := write()
		if !diskFull(err) {
			return err
		}
		select {
		case <-time.After(fullPause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// diskFull reports whether a write failed because the disk is full. Some of SQLite's files fail
// with the system's error behind another.
func diskFull(err error) bool {
	return primaryCode(err) == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC)
}

// Close closes the file and the prepared statements, and removes the file if it is damaged. SQLite
// keeps a connection and its write-ahead log while a statement is open, and database/sql does not
// close statements that were prepared on a connection.
func (f *File) Close() error {
	var errs []error
	for _, s := range f.Statements {
		errs = append(errs, s.Close())
	}
	if f.readers != nil {
		errs = append(errs, f.readers.Close())
	}
	if f.conn != nil {
		errs = append(errs, f.conn.Close())
	}
	if f.writers != nil {
		errs = append(errs, f.writers.Close())
	}
	if f.corrupt.Load() {
		errs = append(errs, Remove(f.path))
	}
	return errors.Join(errs...)
}

// Remove removes a file that is closed, with its write-ahead log.
func Remove(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sqlitefile: %w", err)
		}
	}
	return nil
}
