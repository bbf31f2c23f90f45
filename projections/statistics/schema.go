package statistics

// Tables is the table of the counts: a row for each account and hour since 1970 UTC in which
// something was counted.
const Tables = `
CREATE TABLE statistics (
	account TEXT    NOT NULL,
	hour    INTEGER NOT NULL,
	counts  BLOB    NOT NULL,
	PRIMARY KEY (account, hour)
) WITHOUT ROWID;
`

// factColumns are the columns of payments that hold its Facts.
const factColumns = `created_at / 3600000000, currency, status, processor, network, country, reason, tries, amount, captured, refunded, challenge, session <> ''`

// The statements of a Counter.
const (
	selectFacts = `SELECT ` + factColumns + ` FROM payments WHERE id = ?`
	selectHour  = `SELECT counts FROM statistics WHERE account = ? AND hour = ?`
	upsertHour  = `INSERT INTO statistics (account, hour, counts) VALUES (?, ?, ?) ON CONFLICT (account, hour) DO UPDATE SET counts = excluded.counts`
	deleteHour  = `DELETE FROM statistics WHERE account = ? AND hour = ?`
)

// Statements are the statements that a Counter needs prepared.
func Statements() []string { return []string{selectFacts, selectHour, upsertHour, deleteHour} }

func (f *Facts) fields() []any {
	return []any{
		&f.Hour, &f.Currency, &f.Status, &f.Processor, &f.Network, &f.Country, &f.Reason, &f.Tries, &f.Amount, &f.Captured, &f.Refunded,
		&f.Challenge, &f.Session,
	}
}
