package book

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Phase is what is known about an operation at the vendor.
type Phase string

const (
	Sent Phase = "sent" // the vendor may have it: the outcome is unknown
	Idle Phase = "idle" // the vendor certainly did nothing
	Undo Phase = "undo" // the vendor undoes it, if it did it or will do it
	Done Phase = "done" // it has an answer
)

// Operation is an operation of the book.
type Operation struct {
	processor.Operation // without card
	Number              int64
	Phase               Phase
	Tries               int       // how many of the vendor's keys were used up
	Began               time.Time // the first use of the present vendor's key
	Tried               time.Time // the newest use of it
	CreatedAt           time.Time
	UpdatedAt           time.Time
	Answer              *processor.Answer // under its own key; nil until Done. With Undo: a success that came too late.
	// Ended is the end of an authorization that waited for its customer; or the failure that
	// overturned a success, or the newest time of a success.
	Ended *processor.Answer
}

// Newest is the newest answer; nil until Done.
func (o *Operation) Newest() *processor.Answer {
	if o.Ended != nil {
		return o.Ended
	}
	return o.Answer
}

// Open reports whether the operation has an answer that is not its last.
func (o *Operation) Open() bool {
	a := o.Newest()
	return a != nil && (a.State == processor.Pending || a.State == processor.ActionRequired)
}

// Doubtful reports whether the vendor may have the operation, and its outcome is not known.
func (o *Operation) Doubtful() bool { return o.Phase == Sent || o.Phase == Undo }

// Same reports whether a repeat has the contents of o (D14.2).
func (o *Operation) Same(op processor.Operation) bool {
	return o.Kind == op.Kind && o.Reference == op.Reference && o.ParentID == op.ParentID && o.Amount == op.Amount &&
		(op.Currency == o.Currency || op.Currency == "") && o.Final == op.Final && o.Outcome == op.Outcome
}

// request is the part of an operation that its JSON leaves out, and the JSON.
type request struct {
	Processor processor.Name      `json:"processor"`
	Operation processor.Operation `json:"operation"`
}

const columns = `number, key, request, phase, tries, began, tried, created, updated, answer, ended`

type scanner interface{ Scan(...any) error }

func read(row scanner) (*Operation, error) {
	var o Operation
	var key, text, answer, ended string
	var began, tried, created, updated int64
	if err := row.Scan(&o.Number, &key, &text, &o.Phase, &o.Tries, &began, &tried, &created, &updated, &answer, &ended); err != nil {
		return nil, err
	}
	var r request
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("book: operation %d: %w", o.Number, err)
	}
	o.Operation = r.Operation
	o.Processor, o.Key = r.Processor, domain.OperationKey(key)
	o.Began, o.Tried, o.CreatedAt, o.UpdatedAt = at(began), at(tried), at(created), at(updated)
	var err error
	if o.Answer, err = readAnswer(answer); err == nil {
		o.Ended, err = readAnswer(ended)
	}
	if err != nil {
		return nil, fmt.Errorf("book: operation %d: %w", o.Number, err)
	}
	return &o, nil
}

// encode returns an answer as the book has it: without the token of the card, which only the first
// caller gets.
func encode(a processor.Answer) ([]byte, error) {
	a.CardToken = ""
	return json.Marshal(a)
}

func readAnswer(text string) (*processor.Answer, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no answer is no error
	}
	var a processor.Answer
	return &a, json.Unmarshal([]byte(text), &a)
}

func at(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// Find returns the operation with a key, or nil.
func (b *Book) Find(ctx context.Context, key domain.OperationKey) (*Operation, error) {
	return b.one(ctx, `key = ?`, string(key))
}

// ByTransaction returns the oldest operation of one of the kinds with a transaction, or nil. No
// operation has the transaction "": those that were refused have none.
func (b *Book) ByTransaction(ctx context.Context, id string, kinds ...processor.Kind) (*Operation, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // not there is no error
	}
	for _, kind := range kinds {
		if o, err := b.one(ctx, `transaction_id = ? AND kind = ? ORDER BY number LIMIT 1`, id, string(kind)); o != nil || err != nil {
			return o, err
		}
	}
	return nil, nil //nolint:nilnil // not there is no error
}

func (b *Book) one(ctx context.Context, where string, args ...any) (*Operation, error) {
	o, err := read(b.db.QueryRowContext(ctx, `SELECT `+columns+` FROM operations WHERE `+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // not there is no error
	}
	return o, err
}

// Accept records a new operation as Sent, before the vendor gets it. Its creation is not before
// that of any other, also if the clock was set back: lists are in order of creation.
func (b *Book) Accept(ctx context.Context, op processor.Operation, now time.Time) (*Operation, error) {
	return b.insert(ctx, op, now, nil)
}

// Refuse records a new operation that the vendor never gets, with its answer, as one change.
func (b *Book) Refuse(ctx context.Context, op processor.Operation, answer processor.Answer, now time.Time) (*Operation, error) {
	return b.insert(ctx, op, now, &answer)
}

func (b *Book) insert(ctx context.Context, op processor.Operation, now time.Time, answer *processor.Answer) (*Operation, error) {
	op.Card = nil
	text, err := json.Marshal(request{op.Processor, op})
	if err != nil {
		return nil, fmt.Errorf("book: %w", err)
	}
	o := &Operation{Operation: op, Phase: Sent, Began: now, Tried: now, CreatedAt: now, UpdatedAt: now}
	err = b.change(ctx, func(tx *sql.Tx) error {
		var newest int64
		if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(created), 0) FROM operations`).Scan(&newest); err != nil {
			return err
		}
		if created := at(newest); created.After(o.CreatedAt) {
			o.CreatedAt, o.UpdatedAt = created, created
		}
		done, err := tx.ExecContext(ctx,
			`INSERT INTO operations (key, reference, kind, created, updated, request, phase, tries, began, tried) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
			string(op.Key), string(op.Reference), string(op.Kind), o.CreatedAt.UnixMicro(), o.CreatedAt.UnixMicro(), string(text), string(Sent), now.UnixMicro(), now.UnixMicro())
		if err == nil {
			o.Number, err = done.LastInsertId()
		}
		if err == nil && answer != nil {
			err = Change{Operation: o, Answer: answer}.write(ctx, tx, now)
		}
		return err
	})
	if answer != nil {
		o.Phase, o.Answer = Done, answer
	}
	return o, err
}

// Resend records another try of an operation without an answer, before the vendor gets it.
func (b *Book) Resend(ctx context.Context, o *Operation, now time.Time) error {
	next := *o
	if next.Phase, next.Tried = Sent, now; next.Began.Equal(unused) {
		next.Began = now
	}
	return b.set(ctx, o, next, now)
}

// unused is the beginning of a vendor's key that no request has used.
var unused = at(0)

// Rest records that the vendor certainly did nothing. usedUp: and never will under the present key
// of the vendor, so that the next try needs another.
func (b *Book) Rest(ctx context.Context, o *Operation, usedUp bool, now time.Time) error {
	next := *o
	if next.Phase = Idle; usedUp {
		next.Tries, next.Began = o.Tries+1, unused
	}
	return b.set(ctx, o, next, now)
}

// Undo records that the vendor is to undo a Sent operation, before the vendor gets that order.
func (b *Book) Undo(ctx context.Context, o *Operation, now time.Time) error {
	next := *o
	next.Phase = Undo
	return b.set(ctx, o, next, now)
}

// Late records a success of an operation that is being undone.
func (b *Book) Late(ctx context.Context, o *Operation, answer processor.Answer, now time.Time) error {
	text, err := encode(answer)
	if err != nil {
		return fmt.Errorf("book: %w", err)
	}
	err = b.change(ctx, func(tx *sql.Tx) error {
		return exactlyOne(tx.ExecContext(ctx, `UPDATE operations SET answer = ?, transaction_id = ?, updated = MAX(?, created) WHERE number = ? AND phase = 'undo'`,
			string(text), answer.ProcessorTransactionID, now.UnixMicro(), o.Number))
	})
	if err == nil {
		o.Answer, o.UpdatedAt = &answer, now
	}
	return err
}

func (b *Book) set(ctx context.Context, o *Operation, next Operation, now time.Time) error {
	next.UpdatedAt = now
	err := b.change(ctx, func(tx *sql.Tx) error {
		return exactlyOne(tx.ExecContext(ctx,
			`UPDATE operations SET phase = ?, tries = ?, began = ?, tried = ?, updated = MAX(?, created) WHERE number = ? AND phase <> 'done'`,
			string(next.Phase), next.Tries, next.Began.UnixMicro(), next.Tried.UnixMicro(), now.UnixMicro(), o.Number))
	})
	if err == nil {
		*o = next
	}
	return err
}

// Change is a result for the book.
type Change struct {
	Operation *Operation        // its Tries and Began are recorded, too: they tell the vendor's key that has the result
	Answer    *processor.Answer // under the operation's own key; nil: unchanged
	Ended     *processor.Answer // its end; nil: unchanged
	Notice    *Notice           // to send to the ledger; nil: none
}

// Record records results as one change, and their notifications. Operations are changed in memory,
// too.
func (b *Book) Record(ctx context.Context, now time.Time, changes ...Change) error {
	err := b.change(ctx, func(tx *sql.Tx) error {
		for _, c := range changes {
			if err := c.write(ctx, tx, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		o := c.Operation
		o.Phase, o.UpdatedAt = Done, now
		if c.Answer != nil {
			o.Answer = c.Answer
		}
		if c.Ended != nil {
			o.Ended = c.Ended
		}
	}
	return nil
}

func (c Change) write(ctx context.Context, tx *sql.Tx, now time.Time) error {
	for column, answer := range map[string]*processor.Answer{"answer": c.Answer, "ended": c.Ended} {
		if answer == nil {
			continue
		}
		text, err := encode(*answer)
		if err != nil {
			return fmt.Errorf("book: %w", err)
		}
		err = exactlyOne(tx.ExecContext(ctx, `UPDATE operations SET phase = 'done', tries = ?, began = ?, updated = MAX(?, created), `+column+
			` = ?, transaction_id = CASE WHEN transaction_id = '' THEN ? ELSE transaction_id END WHERE number = ?`, // it never changes
			c.Operation.Tries, c.Operation.Began.UnixMicro(), now.UnixMicro(), string(text), answer.ProcessorTransactionID, c.Operation.Number))
		if err != nil {
			return err
		}
	}
	if c.Notice == nil {
		return nil
	}
	return c.Notice.write(ctx, tx)
}

func exactlyOne(done sql.Result, err error) error {
	if err != nil {
		return fmt.Errorf("book: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("book: %d operations changed instead of one (%w)", n, err)
	}
	return nil
}

// Fence refuses a key from now on.
func (b *Book) Fence(ctx context.Context, key domain.OperationKey, now time.Time) error {
	return b.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO fences (key, at) VALUES (?, ?)`, string(key), now.UnixMicro())
		return err
	})
}

// Fenced reports whether a key is refused.
func (b *Book) Fenced(ctx context.Context, key domain.OperationKey) (fenced bool, err error) {
	err = b.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM fences WHERE key = ?)`, string(key)).Scan(&fenced)
	return fenced, err
}

const page = 256

// Each calls do with every operation of the book that f selects, in order of creation, until do
// returns an error. The book is not locked meanwhile; operations that are recorded meanwhile are
// left out, so Each ends however long do takes.
func (b *Book) Each(ctx context.Context, f protocol.Filter, do func(*Operation) error) error {
	var last int64
	if err := b.db.QueryRowContext(ctx, `SELECT COALESCE(MAX(number), 0) FROM operations`).Scan(&last); err != nil {
		return fmt.Errorf("book: %w", err)
	}
	for after := int64(0); ; {
		list, err := b.page(ctx, f, after, last)
		if err != nil {
			return err
		}
		for _, o := range list {
			after = o.Number
			if err := do(o); err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

// Doubtful returns the operations whose outcome at the vendor is not known, of one payment or, with
// "", of all, that were created until a time; zero is no bound.
func (b *Book) Doubtful(ctx context.Context, reference domain.PaymentID, until time.Time) ([]*Operation, error) {
	latest := int64(math.MaxInt64)
	if !until.IsZero() {
		latest = until.UnixMicro()
	}
	return b.list(ctx, `phase IN ('sent', 'undo') AND (? = '' OR reference = ?) AND created <= ? ORDER BY number`, string(reference), string(reference), latest)
}

func (b *Book) page(ctx context.Context, f protocol.Filter, after, last int64) ([]*Operation, error) {
	where, args := `number > ? AND number <= ?`, []any{after, last}
	if f.Reference != "" {
		where, args = where+` AND reference = ?`, append(args, string(f.Reference))
	}
	if !f.From.IsZero() {
		where, args = where+` AND created >= ?`, append(args, f.From.Add(time.Microsecond-1).UnixMicro())
	}
	if !f.To.IsZero() {
		where, args = where+` AND created <= ?`, append(args, f.To.UnixMicro())
	}
	return b.list(ctx, where+fmt.Sprintf(` ORDER BY number LIMIT %d`, page), args...)
}

// list reads operations. where is a text of this package.
func (b *Book) list(ctx context.Context, where string, args ...any) (list []*Operation, err error) {
	rows, err := b.db.QueryContext(ctx, `SELECT `+columns+` FROM operations WHERE `+where, args...) //nolint:gosec // no value is in the text
	if err != nil {
		return nil, fmt.Errorf("book: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		o, err := read(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, rows.Err()
}
