package book

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

// FileName is the file's name in the connector's folder.
const FileName = "book.sqlite"

const identity = "payledger connector book 1"

const tables = `
CREATE TABLE IF NOT EXISTS meta (identity TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS operations (
	number      INTEGER PRIMARY KEY,   -- the order of creation
	key         TEXT NOT NULL UNIQUE,
	reference   TEXT NOT NULL,
	kind        TEXT NOT NULL,
	transaction_id TEXT NOT NULL DEFAULT '',
	created     INTEGER NOT NULL,      -- Unix microseconds
	updated     INTEGER NOT NULL,
	request     TEXT NOT NULL,         -- without card
	phase       TEXT NOT NULL,
	tries       INTEGER NOT NULL,      -- how many of the vendor's keys were used up
	began       INTEGER NOT NULL,      -- the first use of the present vendor's key
	tried       INTEGER NOT NULL,      -- the newest use of it
	answer      TEXT NOT NULL DEFAULT '',
	ended       TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX IF NOT EXISTS operations_reference ON operations (reference, number);
CREATE INDEX IF NOT EXISTS operations_created ON operations (created, number);
CREATE INDEX IF NOT EXISTS operations_doubtful ON operations (number) WHERE phase IN ('sent', 'undo');
CREATE INDEX IF NOT EXISTS operations_transaction ON operations (transaction_id, kind) WHERE transaction_id <> '';
CREATE TABLE IF NOT EXISTS fences (key TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (id TEXT PRIMARY KEY, url TEXT NOT NULL, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS disputes (
	number    INTEGER PRIMARY KEY,     -- the order of arrival
	id        TEXT NOT NULL UNIQUE,    -- of the notification
	reference TEXT NOT NULL,
	at        INTEGER NOT NULL,        -- the vendor's time of the change
	body      TEXT NOT NULL            -- the notification
) STRICT;
CREATE INDEX IF NOT EXISTS disputes_reference ON disputes (reference, number);
`

// Book is the open file. Its methods may be called from many goroutines; a change is durable when
// its method returns.
type Book struct{ db *sql.DB }

// Open opens or creates the book in an existing folder. It fails if another process uses it.
func Open(ctx context.Context, dir string) (*Book, error) {
	pragmas := url.Values{"_pragma": {
		"busy_timeout(2000)", "locking_mode(exclusive)", "journal_mode(wal)", "synchronous(full)", "secure_delete(on)",
	}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.Join(dir, FileName)}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return nil, fmt.Errorf("book: %w", err)
	}
	db.SetMaxOpenConns(1) // one connection holds the lock of the file
	b := &Book{db}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("book in %s: %w", dir, err), db.Close())
	}
	return b, nil
}

func (b *Book) prepare(ctx context.Context) error {
	return b.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, tables); err != nil {
			return err
		}
		var found string
		err := tx.QueryRowContext(ctx, `SELECT identity FROM meta`).Scan(&found)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = tx.ExecContext(ctx, `INSERT INTO meta (identity) VALUES (?)`, identity)
			return err
		}
		if err == nil && found != identity {
			return fmt.Errorf("it is %q, and this program reads %q", found, identity)
		}
		return err
	})
}

// change runs do in a transaction, which is durable when change returns nil.
func (b *Book) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("book: %w", err)
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("book: %w", err)
	}
	return nil
}

// Close closes the file.
func (b *Book) Close() error { return b.db.Close() }
