package export

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"payledger/projections/sqlitefile"
)

// books is the SQLite file of an export, inside one transaction, which only close and commit end:
// database/sql would roll back on a goroutine of its own when a context ends, and the file is
// removed then. It has the newest rows of payments, disputes and deliveries, and the position and
// the place up to which events and deliveries were folded. For the format SQLite it is the export
// itself.
type books struct {
	db       *sql.DB
	tx       *sql.Tx
	all      bool // events and entries are written here, too
	marks    bool // the payments, disputes and deliveries of this export are marked; else it has all of them
	folded   bool // the rows after all events are apart: see keepFolded
	payments table[PaymentRow]
	disputes table[DisputeRow]
	cached   cache
	prepared map[string]*sql.Stmt
	values   []any // of the row that is written
}

const stateTable = "payledger_export"

// openBooks opens or creates the file and begins the transaction. Another export that writes to the
// file is an error.
func openBooks(ctx context.Context, path string, all bool) (*books, error) {
	db, err := sql.Open("sqlite", fileURL(path)+"?_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	db.SetMaxOpenConns(1)
	b := &books{db: db, all: all, marks: true, payments: payments, disputes: disputes, prepared: map[string]*sql.Stmt{}}
	if b.tx, err = db.BeginTx(context.WithoutCancel(ctx), nil); err == nil {
		err = b.create(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("export: open %s: %w; is it the file of an earlier export, and is no other export running? If not, choose another --out", path, err), b.close())
	}
	return b, nil
}

func fileURL(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

func (b *books) create(ctx context.Context) error {
	var tables int
	if err := b.tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 {
		if err := b.sameTables(ctx); err != nil {
			return err
		}
	}
	changed := "CREATE TEMP TABLE changed (id TEXT PRIMARY KEY) WITHOUT ROWID;"
	if tables == 0 {
		all := []string{payments.create(), transactions.create(), refunds.create(), disputes.create(), webhooks.create(), "CREATE TABLE " + stateTable + " (name TEXT PRIMARY KEY, value TEXT NOT NULL);"}
		if b.all {
			all = append(all, events.create(), entries.create())
		}
		changed += strings.Join(all, "")
	}
	_, err := b.tx.ExecContext(ctx, changed)
	return err
}

// keepFolded keeps the payments and disputes after all events in tables of their own, until the
// export ends. Those of the export are as they were at the end of its window, and the log may have
// events of the window behind others that are later.
func (b *books) keepFolded(ctx context.Context) error {
	b.folded, b.payments, b.disputes = true, foldedPayments, foldedDisputes
	for _, create := range []string{foldedPayments.create(), foldedDisputes.create()} {
		if _, err := b.tx.ExecContext(ctx, strings.Replace(create, "CREATE TABLE", "CREATE TEMP TABLE", 1)); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}

// sameTables returns an error if another version, with other columns, made the file.
func (b *books) sameTables(ctx context.Context) error {
	made := []string{payments.create(), transactions.create(), refunds.create(), disputes.create(), webhooks.create()}
	if b.all {
		made = append(made, events.create(), entries.create())
	}
	for _, create := range made {
		var same int
		text := strings.TrimSuffix(create, ";\n")
		if err := b.tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE sql = ?", text).Scan(&same); err != nil {
			return err
		}
		if same == 0 {
			return errors.New("another version of payledger made it, with other columns")
		}
	}
	return nil
}

// close ends the transaction without its changes, unless commit was called.
func (b *books) close() error {
	var err error
	if b.tx != nil {
		if err = b.tx.Rollback(); errors.Is(err, sql.ErrTxDone) {
			err = nil
		}
	}
	return errors.Join(err, b.db.Close())
}

// commit makes the export durable, unless ctx has ended.
func (b *books) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.tx.Commit()
}

func (b *books) exec(ctx context.Context, statement string, args ...any) error {
	s, err := b.prepare(ctx, statement) //nolint:sqlclosecheck // the end of the transaction closes it
	if err == nil {
		_, err = s.ExecContext(context.WithoutCancel(ctx), args...) // the driver starts a goroutine for a context that can end
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func (b *books) prepare(ctx context.Context, statement string) (s *sql.Stmt, err error) {
	if s = b.prepared[statement]; s == nil {
		if s, err = b.tx.PrepareContext(context.WithoutCancel(ctx), statement); err == nil {
			b.prepared[statement] = s
		}
	}
	return s, err
}

func (b *books) state(ctx context.Context, name string) (value string, err error) {
	err = b.tx.QueryRowContext(ctx, "SELECT value FROM "+stateTable+" WHERE name = ?", name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	return value, nil
}

func (b *books) setState(ctx context.Context, name, value string) error {
	return b.exec(ctx, "INSERT OR REPLACE INTO "+stateTable+" (name, value) VALUES (?, ?)", name, value)
}

// number returns a state that is a number; 0 without one.
func (b *books) number(ctx context.Context, name string) (uint64, error) {
	text, err := b.state(ctx, name)
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.ParseUint(text, 10, 64)
}

func readRow[T any](ctx context.Context, b *books, t table[T], id string) (row T, found bool, err error) {
	s, err := b.prepare(ctx, t.selectByID) //nolint:sqlclosecheck // the end of the transaction closes it
	if err != nil {
		return row, false, fmt.Errorf("export: %w", err)
	}
	values, places := places(len(t.columns))
	err = s.QueryRowContext(context.WithoutCancel(ctx), id).Scan(places...)
	if errors.Is(err, sql.ErrNoRows) {
		return row, false, nil
	}
	if err != nil {
		return row, false, fmt.Errorf("export: %w", err)
	}
	row, err = t.read(values)
	return row, true, err
}

func places(n int) (values, places []any) {
	values, places = make([]any, n), make([]any, n)
	for i := range values {
		places[i] = &values[i]
	}
	return values, places
}

func insertRows[T any](ctx context.Context, b *books, t table[T], rows []T) error {
	for i := range rows {
		b.values = t.values(b.values[:0], &rows[i])
		if err := b.exec(ctx, t.insert, b.values...); err != nil {
			return err
		}
	}
	return nil
}

// dropUnchanged removes the payments and disputes without an event in the export's window, with
// their rows in other tables, and the deliveries without a record in it. The balances of the
// earlier events were needed until here.
func (b *books) dropUnchanged(ctx context.Context) error {
	for table, id := range map[string]string{payments.name: "id", transactions.name: "payment_id", refunds.name: "payment_id", disputes.name: "id", webhooks.name: "id"} {
		if err := b.exec(ctx, "DELETE FROM "+table+" WHERE "+id+" NOT IN (SELECT id FROM changed)"); err != nil {
			return err
		}
	}
	return nil
}

// mark marks the ids with the value true: their rows belong to this export.
func (b *books) mark(ctx context.Context, ids map[string]bool) error {
	for id, changed := range ids {
		if !changed || !b.marks {
			continue
		}
		if err := b.exec(ctx, "INSERT OR IGNORE INTO changed (id) VALUES (?)", id); err != nil {
			return err
		}
	}
	return nil
}

// changedDeliveries returns the number of deliveries that belong to this export. Call it before
// payments are marked.
func (b *books) changedDeliveries(ctx context.Context) (n uint64, err error) {
	query := "SELECT count(*) FROM changed"
	if !b.marks {
		query = "SELECT count(*) FROM " + webhooks.name
	}
	if err := b.tx.QueryRowContext(context.WithoutCancel(ctx), query).Scan(&n); err != nil {
		return 0, fmt.Errorf("export: %w", err)
	}
	return n, nil
}

// writeChanged writes the rows of a table whose payment, dispute or delivery is marked, or all
// rows; id is the column with its id.
func writeChanged[T any](ctx context.Context, b *books, t table[T], id string, w writer[T]) error {
	query := fmt.Sprintf("SELECT %s FROM %s", strings.Join(t.names(), ", "), t.name) //nolint:gosec // the names are those of our own tables
	if b.marks {
		query += fmt.Sprintf(" WHERE %s IN (SELECT id FROM changed)", id)
	}
	query += " ORDER BY " + strings.Join(t.keys(), ", ")
	found, err := b.tx.QueryContext(context.WithoutCancel(ctx), query) //nolint:rowserrcheck // Each checks it
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	rows := make([]T, 0, batchSize)
	values, places := places(len(t.columns))
	err = sqlitefile.Rows(found, nil).Each(func(scan sqlitefile.Scan) error {
		if err := scan(places...); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		row, err := t.read(values)
		if err := errors.Join(ctx.Err(), err); err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) < batchSize {
			return nil
		}
		err = w.write(rows)
		rows = rows[:0]
		return err
	})
	if err == nil {
		err = w.write(rows)
	}
	return err
}
