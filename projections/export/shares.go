package export

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payledger/projections/sqlitefile"
)

// Share has the numbers of a processor's authorizations, of all and of those not refused. An
// unknown outcome is no refusal.
type Share struct {
	Processor      string
	Granted, Asked int
}

// Shares returns the shares of all processors in a file of the format SQLite, by name.
func Shares(ctx context.Context, path string) (shares []Share, err error) {
	db, err := sql.Open("sqlite", fileURL(path)+"?mode=ro")
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	shares, err = sqlitefile.Read(ctx, db, func(scan sqlitefile.Scan) (s Share, err error) {
		err = scan(&s.Processor, &s.Granted, &s.Asked)
		return s, err
	}, `SELECT processor, sum(status NOT IN ('DECLINED', 'FAILED')), count(*) FROM transactions WHERE type = 'SALE' GROUP BY 1 ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return shares, nil
}
