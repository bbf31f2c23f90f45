package transactions

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
	"payledger/projections/sqlitefile"
)

// Tables is the table. payment is the rowid of the payment's row.
const Tables = `
CREATE TABLE transactions (
	code    INTEGER NOT NULL,
	payment INTEGER NOT NULL,
	PRIMARY KEY (code, payment)
) WITHOUT ROWID;
`

// Insert inserts a row, given its code and the payment's id. The row of the payment must be there.
// A repeat changes nothing.
const Insert = `INSERT INTO transactions (code, payment) SELECT ?, rowid FROM payments WHERE id = ? ON CONFLICT DO NOTHING`

const selectPayments = `SELECT payments.id FROM transactions JOIN payments ON payments.rowid = transactions.payment
	WHERE transactions.code = ? AND payments.account = ? ORDER BY payments.rowid DESC LIMIT ?`

// Row is a row of the table.
type Row struct {
	Code    int64
	Payment domain.PaymentID
}

// field is the name of a transaction id in events, and key its msgpack.
const field = "processorTransactionId"

var key = append([]byte{0xa0 | byte(len(field))}, field...)

// RowOf returns the row of an event; false: it has no transaction id.
func RowOf(r *eventstore.Recorded) (Row, bool, error) {
	if r.Aggregate != eventstore.Payments.Name || !bytes.Contains(r.Body, key) { // also in a state: that is looked at next
		return Row{}, false, nil
	}
	stored, _, err := format.Bodies(r)
	if err != nil {
		return Row{}, false, fmt.Errorf("transactions: %w", err)
	}
	id, err := idIn(stored)
	if err != nil || id == "" {
		return Row{}, false, err
	}
	return NewRow(r, id), true, nil
}

// NewRow returns the row of a transaction id in an event of a payment.
func NewRow(r *eventstore.Recorded, id string) Row {
	return Row{Code: codeOf(r.Account, id), Payment: domain.PaymentID(r.ID)}
}

func idIn(event []byte) (string, error) {
	value, err := codec.Field(event, field)
	if err != nil || value == nil {
		return "", err
	}
	id, _, err := codec.Next(value)
	return string(id.Data), err
}

func codeOf(account domain.AccountID, id string) int64 {
	h := fnv.New64a()
	h.Write([]byte(string(account) + "\x00" + id)) // it never fails
	return int64(h.Sum64())
}

// Payments returns payments of an account that may have a transaction with an id, the newest first.
func Payments(ctx context.Context, db *sql.DB, account domain.AccountID, id string, limit int) ([]domain.PaymentID, error) {
	return sqlitefile.Read(ctx, db, func(scan sqlitefile.Scan) (found domain.PaymentID, err error) {
		err = scan(&found)
		return found, err
	}, selectPayments, codeOf(account, id), string(account), limit)
}

// Missing returns the rows of a list that the table does not have.
func Missing(ctx context.Context, db *sql.DB, rows []Row) (missing []Row, err error) {
	codes := make([]int64, len(rows))
	for i, row := range rows {
		codes[i] = row.Code
	}
	list, err := json.Marshal(codes)
	if err != nil {
		return nil, err
	}
	found, err := sqlitefile.Read(ctx, db, func(scan sqlitefile.Scan) (r Row, err error) {
		err = scan(&r.Code, &r.Payment)
		return r, err
	}, `SELECT code, id FROM transactions JOIN payments ON payments.rowid = payment WHERE code IN (SELECT value FROM json_each(?))`, string(list))
	there := map[Row]bool{}
	for _, row := range found {
		there[row] = true
	}
	for _, row := range rows {
		if !there[row] {
			missing = append(missing, row)
		}
	}
	return missing, err
}
