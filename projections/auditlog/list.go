package auditlog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
)

// Filter selects entries of an account. An empty field does not filter; bounds are inclusive.
type Filter struct {
	Actor string   `json:"actor"`
	User  string   `json:"user,omitempty"` // name or e-mail address of a user, also of a removed one; case does not count
	Types []string `json:"type"`

	Subject string `json:"subject,omitempty"` // the id of the changed thing

	From *time.Time `json:"from"`
	To   *time.Time `json:"to"`
}

// List returns at most n rows of the reader's account, newest first, after a place; nil is the
// newest end.
func (e *Reader) List(ctx context.Context, f Filter, from *listing.Place, n int) ([]Row, error) {
	var actors []string
	if f.Actor != "" {
		actors = []string{f.Actor}
	}
	if f.User != "" {
		named, err := e.usersNamed(ctx, f.User)
		if err != nil {
			return nil, err
		}
		if actors = named; f.Actor != "" {
			actors = slices.DeleteFunc(named, func(actor string) bool { return actor != f.Actor })
		}
		if len(actors) == 0 {
			return nil, nil
		}
	}
	query, args := listQuery(e.Account, f, actors, from, n)
	rows, err := sqlitefile.Read(ctx, e.DB, scan, query, args...)
	if err != nil {
		return nil, fmt.Errorf("auditlog: %w", err)
	}
	return rows, nil
}

func scan(scan sqlitefile.Scan) (r Row, err error) {
	err = scan(&r.Account, &r.At, &r.ID, &r.Shard, &r.Seq, &r.Type, &r.Actor, &r.Subject)
	return r, err
}

const columns = "account, at, id, shard, seq, type, actor, subject"

// listQuery returns the query of a page of some actors; none: of all. It merges one SELECT for each
// actor or type, in its index's order.
func listQuery(account domain.AccountID, f Filter, actors []string, from *listing.Place, n int) (string, []any) {
	var all sqlitefile.Where
	all.And("account = ?", string(account))
	all.Between("at", f.From, f.To)
	if from != nil {
		all.And("(at, id) < (?, ?)", from.At.UnixMicro(), from.ID)
	}
	if f.Subject != "" {
		all.And("subject = ?", f.Subject)
	}
	types := slices.Compact(slices.Sorted(slices.Values(f.Types)))
	index, column, values := "audit_type", "type", types
	switch {
	case f.Subject != "":
		values = nil // its index has the few entries of one thing
		all.OneOf("type", types)
		all.OneOf("actor", actors)
	case len(actors) > 0:
		index, column, values = "audit_actor", "actor", actors
		all.OneOf("type", types)
	}
	one := func(index, sql string, values ...any) (string, []any) {
		return "SELECT " + columns + " FROM audit " + index + " WHERE " + sql + all.SQL() + " ORDER BY at DESC, id DESC LIMIT ?",
			slices.Concat(values, all.Args, []any{n})
	}
	switch {
	case f.Subject != "":
		return one("INDEXED BY audit_subject", "")
	case len(values) == 0:
		return one("", "")
	}
	var selects []string
	var args []any
	for _, value := range values {
		sql, bound := one("INDEXED BY "+index, column+" = ? AND ", value)
		selects, args = append(selects, "SELECT * FROM ("+sql+")"), append(args, bound...)
	}
	return strings.Join(selects, " UNION ALL ") + " ORDER BY at DESC, id DESC LIMIT ?", append(args, n)
}

const selectUsersMade = "SELECT " + columns + " FROM audit INDEXED BY audit_type WHERE account = ? AND type IN (?, ?)"

const selectSubject = "SELECT " + columns + " FROM audit INDEXED BY audit_subject WHERE account = ? AND subject = ? AND type IN (?, ?) ORDER BY at LIMIT 1"

// Find returns the row of the same event as another row; false: there is none.
func Find(ctx context.Context, db *sql.DB, same Row) (Row, bool, error) {
	rows, err := sqlitefile.Read(ctx, db, scan, "SELECT "+columns+" FROM audit WHERE account = ? AND at = ? AND id = ?", same.Account, same.At, same.ID)
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}

// Count returns the number of rows.
func Count(ctx context.Context, db *sql.DB) (n int, err error) {
	return n, db.QueryRowContext(ctx, "SELECT count(*) FROM audit").Scan(&n)
}
