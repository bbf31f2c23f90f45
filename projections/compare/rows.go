package compare

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"payledger/projections/sqlitefile"
)

// source calls do with a file of views. Two calls may use different files with the same rows.
type source func(ctx context.Context, do func(*sql.DB) error) error

func still(file *sql.DB) source {
	return func(_ context.Context, do func(*sql.DB) error) error { return do(file) }
}

// rowsByID returns the rows of a table with some ids, by id, with the values and types of SQLite.
func rowsByID(ctx context.Context, from source, table string, columns, ids []string) (map[string][]any, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows := make(map[string][]any, len(ids))
	query := "SELECT " + strings.Join(columns, ", ") + " FROM " + table + " WHERE " + columns[0] + " IN (SELECT value FROM json_each(?))"
	return rows, from(ctx, func(file *sql.DB) error {
		return sqlitefile.Rows(file.QueryContext(ctx, query, string(list))).Each(func(scan sqlitefile.Scan) error {
			values, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				to[i] = &values[i]
			}
			err := scan(to...)
			rows[fmt.Sprint(values[0])] = values
			return err
		})
	})
}

// differ returns the first difference between a row and the row projected from the log, nil for no
// row; "" if there is none.
func differ(table string, columns []string, have, want []any) string {
	switch {
	case want == nil && have == nil:
		return ""
	case have == nil:
		return "the views have no row of it in " + table
	case want == nil:
		return "the views have a row of it in " + table + ", which it must not have"
	}
	for i, column := range columns {
		if !reflect.DeepEqual(have[i], want[i]) { // also of types
			return fmt.Sprintf("the views have %v as %s of %s, the log %v", have[i], column, table, want[i])
		}
	}
	return ""
}
