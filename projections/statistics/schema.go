package statistics

// Tables is the table of the counts: for each account a row for each hour since 1970 UTC in which
// something was counted, and a row for each such day.
const Tables = `
CREATE TABLE statistics (
	account TEXT    NOT NULL,
	daily   INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	counts  BLOB    NOT NULL,
	PRIMARY KEY (account, daily, at)
) WITHOUT ROWID;
`

// factColumns are the columns of payments that hold its Facts.
const factColumns = `created_at / 3600000000, currency, status, processor, network, country, reason, tries, amount, captured, refunded, challenge, session <> ''`

// The statements of a Counter.
const (
	selectFacts = `SELECT ` + factColumns + ` FROM payments WHERE id = ?`
	selectSpan  = `SELECT counts FROM statistics WHERE account = ? AND daily = ? AND at = ?`
	upsertSpan  = `INSERT INTO statistics (account, daily, at, counts) VALUES (?, ?, ?, ?) ON CONFLICT (account, daily, at) DO UPDATE SET counts = excluded.counts`
	deleteSpan  = `DELETE FROM statistics WHERE account = ? AND daily = ? AND at = ?`
)

// Statements are the statements that a Counter needs prepared.
func Statements() []string { return []string{selectFacts, selectSpan, upsertSpan, deleteSpan} }

func (f *Facts) fields() []any {
	return []any{
		&f.Hour, &f.Currency, &f.Status, &f.Processor, &f.Network, &f.Country, &f.Reason, &f.Tries, &f.Amount, &f.Captured, &f.Refunded,
		&f.Challenge, &f.Session,
	}
}
