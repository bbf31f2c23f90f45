package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

const selectSchema = `SELECT type || ' ' || name || ' of ' || tbl_name || ': ' || coalesce(sql, '') FROM sqlite_schema ORDER BY type, name`

// Check returns a fault of a file, or "": its tables and indexes are those of tables, and SQLite's
// own check finds no fault.
func Check(ctx context.Context, file *sql.DB, tables string) (fault string, err error) {
	fresh, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", fmt.Errorf("sqlitefile: %w", err)
	}
	defer func() { err = errors.Join(err, fresh.Close()) }()
	fresh.SetMaxOpenConns(1) // each connection has a memory of its own
	if _, err := fresh.ExecContext(ctx, tableMeta+tables); err != nil {
		return "", fmt.Errorf("sqlitefile: %w", err)
	}
	text := func(scan Scan) (line string, err error) { err = scan(&line); return line, err }
	want, err := Read(ctx, fresh, text, selectSchema)
	if err != nil {
		return "", fmt.Errorf("sqlitefile: %w", err)
	}
	have, err := Read(ctx, file, text, selectSchema)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return err.Error(), nil
	case !slices.Equal(have, want):
		return "its tables and indexes are other ones", nil
	}
	var result string
	if err := file.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&result); err != nil {
		result = err.Error()
	}
	if result == "ok" {
		result = ""
	}
	return result, ctx.Err()
}
