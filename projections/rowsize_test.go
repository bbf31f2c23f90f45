package projections

import (
	"path/filepath"
	"testing"
)

// TestRowSize bounds the bytes of a payment in the file, in its table and in all of its indexes:
// rows contain columns, not states.
func TestRowSize(t *testing.T) {
	t.Parallel()
	const payments = 2000
	l := newLogbook(1)
	for n := range payments {
		l.answer(l.timeOut(l.create(n)), approved())
	}
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, m)
	mustApply(t, m, l.all)
	var table, all int
	const size = `SELECT sum(pgsize) FILTER (WHERE name = 'payments'), sum(pgsize) FROM dbstat
		WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'payments')`
	if err := m.Readers().QueryRow(size).Scan(&table, &all); err != nil {
		t.Fatal(err)
	}
	t.Logf("bytes per payment: %d in the table, %d with its indexes", table/payments, all/payments)
	if table/payments > maxRow {
		t.Errorf("a row takes %d bytes; at most %d", table/payments, maxRow)
	}
}

// maxRow is more than the columns of a payment take, and less than its state would.
const maxRow = 400
