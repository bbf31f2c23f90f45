package deliveries

import "strings"

// Identity is the file's identity: it names everything that a row depends on. Raise the number with
// every change of the tables or of the rows' content.
const Identity = "payledger deliveries 4"

// Tables is the whole schema of the file. Times are microseconds since 1970 UTC, 0 for none. rowids
// are in the order of the first records. mark has one row: the Mark. counts has a row for each
// account and hour of planning, and one for each account and day (daily is 1): at is their number
// since 1970 UTC.
const Tables = `
CREATE TABLE mark (
	only INTEGER PRIMARY KEY CHECK (only = 1),
	seq  INTEGER NOT NULL,
	name TEXT    NOT NULL,
	hash BLOB    NOT NULL
);
CREATE TABLE deliveries (
	id           TEXT    NOT NULL UNIQUE,
	name         TEXT    NOT NULL,
	seq          INTEGER NOT NULL,
	account      TEXT    NOT NULL,
	endpoint     TEXT    NOT NULL,
	event_type   TEXT    NOT NULL,
	event_id     TEXT    NOT NULL,
	aggregate    TEXT    NOT NULL,
	aggregate_id TEXT    NOT NULL,
	status       TEXT    NOT NULL,
	planned_at   INTEGER NOT NULL,
	updated_at   INTEGER NOT NULL,
	next_at      INTEGER NOT NULL,
	attempts     INTEGER NOT NULL,
	status_code  INTEGER NOT NULL,
	failure      TEXT    NOT NULL,
	failed       INTEGER NOT NULL,
	succeeded_at INTEGER NOT NULL,
	succeeded_by INTEGER NOT NULL
);
CREATE TABLE counts (
	account TEXT    NOT NULL,
	daily   INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	counts  BLOB    NOT NULL,
	PRIMARY KEY (account, daily, at)
) WITHOUT ROWID;
CREATE INDEX deliveries_planned ON deliveries (account, planned_at, id);
CREATE INDEX deliveries_status ON deliveries (account, status, planned_at, id);
CREATE INDEX deliveries_endpoint ON deliveries (account, endpoint, planned_at, id);
CREATE INDEX deliveries_open ON deliveries (status, planned_at) WHERE status IN ('FAILED', 'PLANNED');
CREATE INDEX deliveries_about ON deliveries (account, aggregate_id, planned_at, id);
CREATE INDEX deliveries_failed ON deliveries (account, planned_at, id, status, endpoint) WHERE failed > 0;
`

// Columns returns the names of the columns of a row, its id first.
func Columns() []string {
	names := strings.Split(columns, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

const columns = `id, name, seq, account, endpoint, event_type, event_id, aggregate, aggregate_id, status, planned_at,
	updated_at, next_at, attempts, status_code, failure, failed, succeeded_at, succeeded_by`

const (
	selectMark = `SELECT seq, name, hash FROM mark`
	upsertMark = `INSERT INTO mark (only, seq, name, hash) VALUES (1, ?, ?, ?)
		ON CONFLICT (only) DO UPDATE SET seq = excluded.seq, name = excluded.name, hash = excluded.hash`
	insertRow = `INSERT INTO deliveries (` + columns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO NOTHING`
	updateRow = `UPDATE deliveries SET seq = ?1, status = ?2, updated_at = ?3, next_at = ?4, attempts = ?5, status_code = ?6,
		failure = ?7, failed = ?8, succeeded_at = ?9, succeeded_by = ?10 WHERE id = ?11 AND seq < ?1`
	selectRow  = `SELECT ` + columns + ` FROM deliveries WHERE id = ? AND account = ?`
	selectOpen = `SELECT status, count(*), min(planned_at) FROM deliveries INDEXED BY deliveries_open
		WHERE status IN ('FAILED', 'PLANNED') GROUP BY status ORDER BY status`
	deleteAll = `DELETE FROM deliveries; DELETE FROM counts; DELETE FROM mark`
)

// The statements of a counter.
const (
	factColumns  = `account, endpoint, planned_at, status, succeeded_at, succeeded_by`
	selectFacts  = `SELECT ` + factColumns + ` FROM deliveries WHERE id = ?`
	selectCounts = `SELECT counts FROM counts WHERE account = ? AND daily = ? AND at = ?`
	upsertCounts = `INSERT INTO counts (account, daily, at, counts) VALUES (?, ?, ?, ?)
		ON CONFLICT (account, daily, at) DO UPDATE SET counts = excluded.counts`
)

// statements are those that the writer needs prepared.
func statements() []string {
	return []string{upsertMark, insertRow, updateRow, selectFacts, selectCounts, upsertCounts}
}
