package projections

import (
	"fmt"

	"payledger/eventstore"
	"payledger/projections/auditlog"
	"payledger/projections/statistics"
	"payledger/projections/transactions"
)

// fileVersion has to grow with every change of the tables below or of the values in them: an older
// file is rebuilt from the log.
const fileVersion = 23

// Identity returns the identity of the read model's file: its version, the schemas of the states
// behind the columns, and the shards.
func Identity(shards int) string {
	return fmt.Sprintf("payledger views %d; payment %d; session %d; instrument %d; attempt %d; account %d; dispute %d; inbox %d; run %d; person %d; shards %d", fileVersion,
		eventstore.Payments.Schema, eventstore.Sessions.Schema, eventstore.Instruments.Schema, eventstore.Attempts.Schema,
		eventstore.Accounts.Schema, eventstore.Disputes.Schema, eventstore.Inboxes.Schema, eventstore.WorkflowRuns.Schema,
		eventstore.Persons.Schema, shards)
}

// FileName is the name of the read model's file in its folder.
const FileName = "views.sqlite"

// Tables is the whole schema of the read model's file. Times are microseconds since 1970 UTC,
// amounts minor units. A row holds the fields that lists filter and sort by, and the revision that
// it shows; the store has the state.
//
//   - positions: seq is the address of a shard's last applied event, number its number, hash its
//     hash.
//   - payments: a rowid table, because ids are random and rows are appended in the order of time.
//     due_at is the time of the request of an open operation, or the time at which the customer's
//     action expires; due_state and due_kind are the operation's. due_slot is the slot of an open
//     operation (package pending) and NULL for an action. The partial indexes hold only such
//     payments; payments_slot has every column that the counts need. session is the id of the
//     client session. email_hash is that of domain.Sealed, or empty; an erasure of the person
//     empties it. key_number is that of domain.Sealed. Rows of equal times are in the order of
//     their ids. tries is statistics.Tries; captured and refunded are the confirmed amounts.
//     country, reason and challenge are those of statistics.Facts.
//   - sessions: customer is the customer's id, or empty.
//   - persons: those that were ever erased. erased and destroyed are numbers of keys.
//   - instruments: those that were ever vaulted; ended is 1 once the token was deleted or made
//     invalid. session is the client session in which the card was entered. vaulted_at equals
//     created_at if the card was saved as it was entered. default_at is the time at which the token
//     was made the default last, or 0.
//   - namings: every customer that a client session names or named, since the first such event.
//   - attempts: those without a decision, also after their expiry, and those with work left.
//     decided_at is NULL without a decision.
//   - inboxes: those with a waiting notification, with the processor of the oldest one.
//   - disputes: those that were opened; foreign_id is the processor's id. deadline is the last time
//     to challenge an open one, or NULL.
const Tables = `
CREATE TABLE positions (
	shard  INTEGER PRIMARY KEY,
	seq    INTEGER NOT NULL,
	number INTEGER NOT NULL,
	hash   BLOB    NOT NULL
);
CREATE TABLE payments (
	id                  TEXT    NOT NULL UNIQUE,
	account             TEXT    NOT NULL,
	shard               INTEGER NOT NULL,
	seq                 INTEGER NOT NULL,
	revision            INTEGER NOT NULL,
	created_at          INTEGER NOT NULL,
	updated_at          INTEGER NOT NULL,
	status              TEXT    NOT NULL,
	order_id            TEXT    NOT NULL,
	customer_id         TEXT    NOT NULL,
	session             TEXT    NOT NULL,
	currency            TEXT    NOT NULL,
	amount              INTEGER NOT NULL,
	processor           TEXT    NOT NULL,
	merchant_id         TEXT    NOT NULL,
	payment_method_type TEXT    NOT NULL,
	last4               TEXT    NOT NULL,
	network             TEXT    NOT NULL,
	email_hash          TEXT    NOT NULL,
	key_number          INTEGER NOT NULL,
	due_at              INTEGER,
	due_slot            INTEGER,
	due_state           TEXT,
	due_kind            TEXT,
	tries               INTEGER NOT NULL,
	captured            INTEGER NOT NULL,
	refunded            INTEGER NOT NULL,
	country             TEXT    NOT NULL,
	reason              TEXT    NOT NULL,
	challenge           INTEGER NOT NULL
);
CREATE INDEX payments_slot ON payments (processor, due_slot, id, due_at, due_state, due_kind) WHERE due_slot IS NOT NULL;
CREATE INDEX payments_action ON payments (processor, due_at, id) WHERE due_state = 'ACTION';
CREATE INDEX payments_created ON payments (account, created_at);
CREATE INDEX payments_order ON payments (account, order_id, created_at);
CREATE INDEX payments_session ON payments (account, session, created_at) WHERE session <> '';
CREATE INDEX payments_customer ON payments (account, customer_id, created_at) WHERE customer_id <> '';
CREATE INDEX payments_email ON payments (account, email_hash, created_at) WHERE email_hash <> '';
CREATE TABLE sessions (
	id         TEXT    NOT NULL PRIMARY KEY,
	account    TEXT    NOT NULL,
	expires_at INTEGER NOT NULL,
	customer   TEXT    NOT NULL,
	created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE instruments (
	token      TEXT    NOT NULL PRIMARY KEY,
	account    TEXT    NOT NULL,
	revision   INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	customer   TEXT    NOT NULL,
	ended      INTEGER NOT NULL,
	session    TEXT    NOT NULL,
	vaulted_at INTEGER NOT NULL,
	default_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX instruments_customer ON instruments (account, customer, created_at, token);
CREATE INDEX instruments_default ON instruments (account, customer, default_at) WHERE ended = 0 AND default_at > 0;
CREATE INDEX instruments_session ON instruments (session);
CREATE INDEX instruments_ended ON instruments (token) WHERE ended = 1;
CREATE TABLE attempts (
	id         TEXT    NOT NULL PRIMARY KEY,
	account    TEXT    NOT NULL,
	revision   INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	decided_at INTEGER
) WITHOUT ROWID;
CREATE INDEX attempts_decided ON attempts (decided_at, id) WHERE decided_at IS NOT NULL;
CREATE INDEX attempts_waiting ON attempts (account, expires_at, id) WHERE decided_at IS NULL;
CREATE TABLE disputes (
	id          TEXT    NOT NULL UNIQUE,
	account     TEXT    NOT NULL,
	revision    INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	payment_id  TEXT    NOT NULL,
	order_id    TEXT    NOT NULL,
	processor   TEXT    NOT NULL,
	foreign_id  TEXT    NOT NULL,
	type        TEXT    NOT NULL,
	status      TEXT    NOT NULL,
	reason_code TEXT    NOT NULL,
	deadline    INTEGER
);
CREATE INDEX disputes_created ON disputes (account, created_at);
CREATE INDEX disputes_status ON disputes (account, status, created_at);
CREATE INDEX disputes_payment ON disputes (account, payment_id, created_at);
CREATE INDEX disputes_order ON disputes (account, order_id, created_at);
CREATE INDEX disputes_foreign ON disputes (account, foreign_id, created_at);
CREATE INDEX disputes_deadline ON disputes (account, deadline, id) WHERE deadline IS NOT NULL;
CREATE TABLE inboxes (
	reference TEXT    NOT NULL PRIMARY KEY,
	processor TEXT    NOT NULL,
	since     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX inboxes_since ON inboxes (processor, since, reference);
CREATE TABLE accounts (
	id       TEXT    NOT NULL PRIMARY KEY,
	revision INTEGER NOT NULL
);
` + tableRuns + tableBlocks + tablePersons + statistics.Tables + auditlog.Tables + transactions.Tables

const (
	selectPositions = `SELECT shard, seq, number, hash FROM positions ORDER BY shard`
	upsertPosition  = `INSERT INTO positions (shard, seq, number, hash) VALUES (?, ?, ?, ?)
		ON CONFLICT (shard) DO UPDATE SET seq = excluded.seq, number = excluded.number, hash = excluded.hash WHERE excluded.seq > seq`
	// The first event of a payment inserts the whole row. A later event updates the columns that
	// can change, if the row has the revision before the event.
	insertPayment = `INSERT INTO payments (id, account, shard, seq, revision, created_at, updated_at, status,
		order_id, customer_id, session, currency, amount, processor, merchant_id, payment_method_type, last4, network,
		email_hash, key_number, due_at, due_slot, due_state, due_kind, tries, captured, refunded, country, reason, challenge)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO NOTHING`
	updatePayment = `UPDATE payments SET seq = ?, revision = ?, updated_at = ?, status = ?, amount = ?,
		processor = ?, merchant_id = ?, due_at = ?, due_slot = ?, due_state = ?, due_kind = ?,
		tries = ?, captured = ?, refunded = ?, country = ?, reason = ?, challenge = ? WHERE id = ? AND revision = ?`
	updatePaymentRow = updatePayment + ` RETURNING rowid`
	upsertSession    = `INSERT INTO sessions (id, account, expires_at, customer, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, customer = excluded.customer`
	upsertAccount = `INSERT INTO accounts (id, revision) VALUES (?, ?)
		ON CONFLICT (id) DO UPDATE SET revision = excluded.revision WHERE excluded.revision > revision`
	upsertInstrument = `INSERT INTO instruments (token, account, revision, created_at, customer, ended, session, vaulted_at, default_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (token) DO UPDATE SET revision = excluded.revision, customer = excluded.customer, ended = excluded.ended,
		vaulted_at = excluded.vaulted_at, default_at = excluded.default_at`
	upsertAttempt = `INSERT INTO attempts (id, account, revision, expires_at, decided_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, decided_at = excluded.decided_at`
	deleteAttempt = `DELETE FROM attempts WHERE id = ?`
	upsertDispute = `INSERT INTO disputes (id, account, revision, created_at, payment_id, order_id, processor, foreign_id, type,
		status, reason_code, deadline) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, type = excluded.type, status = excluded.status,
		reason_code = excluded.reason_code, deadline = excluded.deadline`
	upsertInbox = `INSERT INTO inboxes (reference, processor, since) VALUES (?, ?, ?)
		ON CONFLICT (reference) DO UPDATE SET processor = excluded.processor, since = excluded.since`
	deleteInbox = `DELETE FROM inboxes WHERE reference = ?`

	selectEverVaulted = `SELECT token, revision FROM instruments INDEXED BY instruments_customer WHERE account = ? AND customer = ?`
	selectInstruments = selectEverVaulted + ` AND ended = 0`
	selectOldest      = selectInstruments + ` AND (created_at, token) > (?, ?) ORDER BY created_at, token LIMIT ?`
	selectNewest      = selectInstruments + ` AND (created_at, token) < (?, ?) ORDER BY created_at DESC, token DESC LIMIT ?`
	selectDefault     = `SELECT token, revision FROM instruments INDEXED BY instruments_default WHERE account = ? AND customer = ? AND ended = 0
		AND default_at > 0 ORDER BY default_at DESC, created_at DESC, token DESC LIMIT 1`
	selectSaved = `SELECT token, session, customer, created_at FROM instruments INDEXED BY instruments_session WHERE session = ? AND account = ?
		AND vaulted_at = created_at
		UNION SELECT token, session, customer, created_at FROM instruments INDEXED BY instruments_customer WHERE account = ? AND customer = ?
		AND created_at > ? AND vaulted_at = created_at`
	selectEnded = `SELECT token, account, created_at FROM instruments INDEXED BY instruments_ended WHERE ended = 1 AND token > ? ORDER BY token LIMIT ?`

	selectAccounts = `SELECT id, revision FROM accounts ORDER BY id`
	// Ids are unique over all accounts.
	selectPaymentAccount = `SELECT account FROM payments WHERE id = ?`
	selectSession        = `SELECT account FROM sessions WHERE id = ?`
)
