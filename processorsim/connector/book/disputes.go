package book

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Notice is a notification for the ledger.
type Notice struct {
	ID   string
	URL  string // "": it is recorded and not sent
	Body []byte
}

func (n Notice) write(ctx context.Context, tx *sql.Tx) error {
	if n.URL == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO outbox (id, url, body) VALUES (?, ?, ?)`, n.ID, n.URL, string(n.Body))
	return err
}

// Undelivered returns the ids of the notifications that the ledger has not taken.
func (b *Book) Undelivered(ctx context.Context) (ids []string, err error) {
	rows, err := b.db.QueryContext(ctx, `SELECT id FROM outbox ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("book: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Notice returns a notification that the ledger has not taken; nil for any other.
func (b *Book) Notice(ctx context.Context, id string) (*Notice, error) {
	n := Notice{ID: id}
	var body string
	err := b.db.QueryRowContext(ctx, `SELECT url, body FROM outbox WHERE id = ?`, id).Scan(&n.URL, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // not there is no error
	}
	n.Body = []byte(body)
	return &n, err
}

// Delivered removes a notification that the ledger has taken.
func (b *Book) Delivered(ctx context.Context, id string) error {
	return b.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM outbox WHERE id = ?`, id)
		return err
	})
}

// Report records a change of a dispute and its notification. False: it is recorded already.
func (b *Book) Report(ctx context.Context, reference domain.PaymentID, changed time.Time, n Notice) (fresh bool, err error) {
	err = b.change(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO disputes (id, reference, at, body) VALUES (?, ?, ?, ?)`,
			n.ID, string(reference), changed.UnixMicro(), string(n.Body))
		if err != nil {
			return err
		}
		rows, err := done.RowsAffected()
		if fresh = rows == 1; !fresh || err != nil {
			return err
		}
		return n.write(ctx, tx)
	})
	return fresh, err
}

// Disputes returns the notifications that f selects, oldest first.
func (b *Book) Disputes(ctx context.Context, f protocol.DisputeFilter) (list protocol.DisputeList, err error) {
	list = protocol.DisputeList{Notifications: []json.RawMessage{}, Next: f.After}
	query, args := `SELECT id, body FROM disputes WHERE reference = ? ORDER BY number`, []any{string(f.Reference)}
	switch {
	case f.Reference != "":
		f.Limit, list.Next = 1<<30, ""
	case f.After != "":
		var number int64
		err := b.db.QueryRowContext(ctx, `SELECT number FROM disputes WHERE id = ?`, f.After).Scan(&number)
		if errors.Is(err, sql.ErrNoRows) {
			return list, protocol.ErrUnknownCursor
		} else if err != nil {
			return list, fmt.Errorf("book: %w", err)
		}
		query, args = `SELECT id, body FROM disputes WHERE number > ? ORDER BY number LIMIT ?`, []any{number, f.Limit + 1}
	default:
		since := int64(0)
		if !f.Since.IsZero() {
			since = f.Since.UnixMicro()
		}
		query, args = `SELECT id, body FROM disputes WHERE at >= ? ORDER BY number LIMIT ?`, []any{since, f.Limit + 1}
	}
	rows, err := b.db.QueryContext(ctx, query, args...)
	if err != nil {
		return list, fmt.Errorf("book: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id, body string
		if err := rows.Scan(&id, &body); err != nil {
			return list, err
		}
		if len(list.Notifications) == f.Limit {
			list.More = true
			break
		}
		list.Notifications, list.Next = append(list.Notifications, json.RawMessage(body)), id
	}
	return list, rows.Err()
}

// NotifyURL returns the newest address that the ledger named for a payment, or "".
func (b *Book) NotifyURL(ctx context.Context, reference domain.PaymentID) (address string, err error) {
	err = b.Each(ctx, protocol.Filter{Reference: reference}, func(o *Operation) error {
		if o.NotifyURL != "" && o.Kind != processor.Complete {
			address = o.NotifyURL
		}
		return nil
	})
	return address, err
}
