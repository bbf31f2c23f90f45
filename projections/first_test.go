package projections

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/projections/eventjson/eventjsontest"
)

// TestFirstEvents: the views of a log whose aggregates have one event each have no zero time, and
// no empty text in a column that each row has a value for.
func TestFirstEvents(t *testing.T) {
	t.Parallel()
	store := eventstoretest.Open(t, t.TempDir())
	if err := eventjsontest.FirstEvents(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := openModel(t.Context(), filepath.Join(t.TempDir(), FileName), store, store.Shards(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, m)
	for shard := range store.Shards() {
		last, err := store.LastSeq(t.Context(), shard)
		if err == nil {
			err = store.Groups(t.Context(), shard, 1, format.GroupOf(last), func(g *format.Group) error { return m.apply(context.WithoutCancel(t.Context()), g.Frames) })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tables := names(t, m, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	filled := 0
	for _, table := range tables {
		if n := noValues(t, m, table); n > 0 {
			filled++
		}
	}
	if filled < 11 {
		t.Errorf("only %d of the tables %v have rows", filled, tables)
	}
}

// mayBeEmpty are the columns whose empty text means that there is no value. A list selects by them,
// and shows none of them.
var mayBeEmpty = []string{"payments.customer_id", "payments.session", "payments.email_hash", "payments.country", "payments.reason", "sessions.customer", "persons.session"}

// noValues checks the rows of a table, and returns their number.
func noValues(t *testing.T, m *model, table string) (n int) {
	t.Helper()
	rows, err := m.Readers().Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for ; rows.Next(); n++ {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, name := range columns {
			if values[i] == (time.Time{}).UnixMicro() || values[i] == (time.Time{}).Unix() || strings.HasPrefix(fmt.Sprint(values[i]), "0001-") {
				t.Errorf("%s.%s is the zero time: %v", table, name, values)
			}
			if values[i] == "" && !slices.Contains(mayBeEmpty, table+"."+name) {
				t.Errorf("%s.%s is empty: %v", table, name, values)
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func names(t *testing.T, m *model, query string) (all []string) {
	t.Helper()
	rows, err := m.Readers().Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
