package projections

// tableBlocks holds payments packed into blocks. kinds has each combination that payments had of the columns with few
// values. blocks has the times of the oldest and the newest payment of each, microseconds since 1970 UTC; block n holds
// the payments of the rowids from n × sizes.block + 1 on. block_columns has the codes, under columnKey.
const tableBlocks = `
CREATE TABLE kinds (
	id                  INTEGER PRIMARY KEY,
	account             TEXT    NOT NULL,
	status              TEXT    NOT NULL,
	processor           TEXT    NOT NULL,
	merchant_id         TEXT    NOT NULL,
	currency            TEXT    NOT NULL,
	payment_method_type TEXT    NOT NULL,
	UNIQUE (account, status, processor, merchant_id, currency, payment_method_type)
);
CREATE TABLE blocks (
	id     INTEGER PRIMARY KEY,
	oldest INTEGER NOT NULL,
	newest INTEGER NOT NULL
);
CREATE TABLE block_columns (
	id    INTEGER PRIMARY KEY,
	codes BLOB    NOT NULL
);
`

const (
	selectPacked = `SELECT (SELECT coalesce(max(rowid), 0) FROM payments), count(*), coalesce(max(newest), -9223372036854775808) FROM blocks`
	selectKinds  = `SELECT id, account, status, processor, merchant_id, currency, payment_method_type FROM kinds`
	selectBlock  = `SELECT created_at, account, status, processor, merchant_id, currency, payment_method_type, amount, last4,
		customer_id, email_hash, order_id FROM payments WHERE rowid > ? AND rowid <= ? ORDER BY rowid`
	insertKind   = `INSERT INTO kinds (account, status, processor, merchant_id, currency, payment_method_type) VALUES (?, ?, ?, ?, ?, ?)`
	insertBlock  = `INSERT INTO blocks (id, oldest, newest) VALUES (?, ?, ?)`
	insertColumn = `INSERT INTO block_columns (id, codes) VALUES (?, ?)`
	updateColumn = `UPDATE block_columns SET codes = ? WHERE id = ?`
	selectColumn = `SELECT codes FROM block_columns WHERE id = ?`

	// of readers
	selectLastBlock = `SELECT coalesce(max(id), -1) FROM blocks`
	selectBlocks    = `SELECT id, oldest, newest FROM blocks WHERE id >= ? ORDER BY id`
	selectColumns   = `SELECT id, codes FROM block_columns WHERE id IN (SELECT value FROM json_each(?))`
)
