package projections

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

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// errStale means that the file cannot be used as it is: it is made anew from the log.
var errStale = errors.New("projections: the file has to be made anew")

const (
	// writerCache is the writer's page cache in KiB: the index on ids is hit at random places.
	writerCache = 32 << 10
	// checkpointPages is how long the write-ahead log grows before it is copied into the file. That is
	// the one moment when this package syncs the disk, which the log needs more.
	checkpointPages = 8192
	// busyMilliseconds bounds the wait for a lock of SQLite's own; there is one writer, so it is short.
	busyMilliseconds = 10_000
)

// database is the SQLite file of a read model: one writer, several readers.
type database struct {
	path    string
	tables  string // SQL that makes them, meta among them
	readers *sql.DB
	writers *sql.DB
	conn    *sql.Conn   // the one writing connection
	corrupt atomic.Bool // found damaged: Close removes the file, the next Open rebuilds it
}

// openDatabase opens the file at path, or makes it. errStale, or SQLite's own word, says that it cannot be
// used.
func openDatabase(ctx context.Context, path, identity string) (*database, error) {
	return openTables(ctx, path, identity, tables)
}

func openTables(ctx context.Context, path, identity, tables string) (*database, error) {
	d := &database{path: path, tables: tables}
	err := d.open(ctx, identity)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *database) open(ctx context.Context, identity string) (err error) {
	if d.writers, err = sql.Open("sqlite", dsn(d.path, "journal_mode(WAL)", "synchronous(NORMAL)", "secure_delete(ON)",
		fmt.Sprintf("cache_size(-%d)", writerCache), fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages))); err != nil {
		return fmt.Errorf("projections: open %s: %w", d.path, err)
	}
	d.writers.SetMaxOpenConns(1)
	if d.conn, err = d.writers.Conn(ctx); err != nil {
		return fmt.Errorf("projections: open %s: %w", d.path, err)
	}
	if err := d.identify(ctx, identity); err != nil {
		return err
	}
	if err := os.Chmod(d.path, 0o600); err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	if d.readers, err = sql.Open("sqlite", dsn(d.path, "query_only(ON)")); err != nil {
		return fmt.Errorf("projections: open %s: %w", d.path, err)
	}
	n := max(4, runtime.GOMAXPROCS(0))
	d.readers.SetMaxOpenConns(n)
	d.readers.SetMaxIdleConns(n)
	return nil
}

// dsn escapes the path, so that no character of it is taken for an option.
func dsn(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyMilliseconds)}, pragmas...)}
	return (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: q.Encode()}).String()
}

// sizeCache changes the writer's page cache to so many bytes; 0 leaves it at writerCache.
func (d *database) sizeCache(ctx context.Context, bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	if _, err := d.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA cache_size(-%d)", max(1, bytes>>10))); err != nil {
		return fmt.Errorf("projections: page cache of %s: %w", d.path, err)
	}
	return nil
}

// identify makes the tables of a new file in one transaction, or checks whose file it is.
func (d *database) identify(ctx context.Context, identity string) error {
	var n int
	if err := d.conn.QueryRowContext(ctx, selectTables).Scan(&n); err != nil {
		return fmt.Errorf("projections: read %s: %w", d.path, err)
	}
	if n == 0 {
		return d.create(ctx, identity)
	}
	var found string
	if err := d.conn.QueryRowContext(ctx, selectIdentity).Scan(&found); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", errStale, err)
	}
	if found != identity {
		return fmt.Errorf("%w: it is %q, not %q", errStale, found, identity)
	}
	return nil
}

func (d *database) create(ctx context.Context, identity string) error {
	tx, err := d.conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("projections: create %s: %w", d.path, err)
	}
	if _, err = tx.ExecContext(ctx, d.tables); err == nil {
		_, err = tx.ExecContext(ctx, insertIdentity, identity)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("projections: create %s: %w", d.path, err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("projections: create %s: %w", d.path, err)
	}
	return nil
}

// noticed remembers that err shows a damaged file.
func (d *database) noticed(err error) error {
	if unusable(err) {
		d.corrupt.Store(true)
	}
	return err
}

// unusable tells whether err means that the file has to be made anew.
func unusable(err error) bool {
	if errors.Is(err, errStale) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	primary := e.Code() & 0xff
	return primary == sqlite3.SQLITE_CORRUPT || primary == sqlite3.SQLITE_NOTADB
}

// fullPause is the wait before a write is tried again that found the disk full.
const fullPause = 200 * time.Millisecond

// WhenRoom does a write, again and again while the disk is full, until ctx ends.
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

// diskFull reports whether a write failed because the disk is full. Some of SQLite's files fail with the operating system's
// error behind an input/output error.
func diskFull(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL {
		return true
	}
	return errors.Is(err, syscall.ENOSPC)
}

// Close closes the file; a damaged one is removed.
func (d *database) Close() error {
	var errs []error
	if d.readers != nil {
		errs = append(errs, d.readers.Close())
	}
	if d.conn != nil {
		errs = append(errs, d.conn.Close())
	}
	if d.writers != nil {
		errs = append(errs, d.writers.Close())
	}
	if d.corrupt.Load() {
		errs = append(errs, removeDatabase(d.path))
	}
	return errors.Join(errs...)
}

func removeDatabase(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("projections: %w", err)
		}
	}
	return nil
}
