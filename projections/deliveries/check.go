package deliveries

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payledger/projections/sqlitefile"
	"payledger/projections/statistics"
)

const (
	selectCounted = `SELECT ` + factColumns + ` FROM deliveries`
	selectAll     = `SELECT account, daily, at, counts FROM counts`
)

// CheckCounts compares the counts with the rows, in one read. It calls fault with each difference.
func CheckCounts(ctx context.Context, file *sql.DB, fault func(difference string) error) (err error) {
	tx, err := file.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("deliveries: %w", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	wanted := map[span]counts{}
	err = sqlitefile.Rows(tx.QueryContext(ctx, selectCounted)).Each(func(scan sqlitefile.Scan) error {
		var f facts
		if err := scan(f.fields()...); err != nil {
			return err
		}
		for _, of := range f.spans() {
			if wanted[of] == nil {
				wanted[of] = counts{}
			}
			wanted[of].add(&f, 1)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("deliveries: %w", err)
	}
	err = sqlitefile.Rows(tx.QueryContext(ctx, selectAll)).Each(func(scan sqlitefile.Scan) error {
		var of span
		var b []byte
		if err := scan(&of.account, &of.daily, &of.at, &b); err != nil {
			return err
		}
		same := bytes.Equal(b, wanted[of].encode())
		delete(wanted, of)
		if same {
			return nil
		}
		return fault(of.different())
	})
	if err != nil {
		return fmt.Errorf("deliveries: %w", err)
	}
	for of := range wanted {
		if err := fault(of.different()); err != nil {
			return err
		}
	}
	return nil
}

func (s span) different() string {
	from := statistics.Hour(s.at).String()
	if s.daily {
		from = statistics.Day(s.at).String()
	}
	return fmt.Sprintf("the counts of account %s from %s on are not those of its deliveries", s.account, from)
}
