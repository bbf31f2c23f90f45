package statistics

import (
	"context"
	"database/sql"
	"fmt"

	"payledger/projections/sqlitefile"
)

// selectDifferences selects the groups with wrong counts. The sums of parts cannot overflow: 32
// bits each, of fewer than 2^31 payments.
const selectDifferences = `WITH wanted AS (
	SELECT account, created_at / 86400000000 AS day, currency, status, processor, tries, count(*) AS payments,
		sum(amount >> 32) AS amount_high, sum(amount & 4294967295) AS amount_low,
		sum(captured >> 32) AS captured_high, sum(captured & 4294967295) AS captured_low,
		sum(refunded >> 32) AS refunded_high, sum(refunded & 4294967295) AS refunded_low
	FROM payments GROUP BY 1, 2, 3, 4, 5, 6)
SELECT account, day, currency, status, processor FROM (SELECT * FROM wanted EXCEPT SELECT * FROM statistics)
UNION SELECT account, day, currency, status, processor FROM (SELECT * FROM statistics EXCEPT SELECT * FROM wanted)
ORDER BY 1, 2, 3, 4, 5`

// Check compares the counts with the rows of payments, in one read. It calls fault with each
// difference.
func Check(ctx context.Context, db *sql.DB, fault func(difference string) error) error {
	rows, err := db.QueryContext(ctx, selectDifferences) //nolint:rowserrcheck // Each checks it
	if err != nil {
		return fmt.Errorf("statistics: %w", err)
	}
	return sqlitefile.Rows(rows, nil).Each(func(scan sqlitefile.Scan) error {
		var account, currency, status, processor string
		var day int64
		if err := scan(&account, &day, &currency, &status, &processor); err != nil {
			return fmt.Errorf("statistics: %w", err)
		}
		return fault(fmt.Sprintf("the counts of account %s on %s for %s, %s and %s are not those of its payments", account, Day(day), currency, status, processor))
	})
}
