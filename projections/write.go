package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payledger/domain/payment"
	"payledger/domain/session"
	"payledger/eventstore/pending"
	"payledger/projections/sqlitefile"
)

// write writes a batch in one transaction.
func (m *model) write(ctx context.Context, b *batch) error {
	err := m.Transact(ctx, func() error {
		if err := m.writeRows(ctx, b); err != nil {
			return err
		}
		return m.writePlaces(ctx, b)
	})
	if err != nil {
		m.packer = nil
		return fmt.Errorf("projections: %w", err)
	}
	return nil
}

func (m *model) writeRows(ctx context.Context, b *batch) error {
	if err := m.writePayments(ctx, b); err != nil {
		return err
	}
	for _, v := range b.sessions.list {
		if _, err := m.statements.upsertSession.ExecContext(ctx, sessionRow(&v)...); err != nil {
			return err
		}
	}
	if err := m.writeInstruments(ctx, b); err != nil {
		return err
	}
	if err := m.writeDisputes(ctx, b); err != nil {
		return err
	}
	if err := m.writeRuns(ctx, b); err != nil {
		return err
	}
	for _, v := range b.accounts.list {
		if _, err := m.statements.upsertAccount.ExecContext(ctx, v.key.ID, int64(v.revision)); err != nil {
			return err
		}
	}
	return nil
}

func sessionRow(v *view[session.State]) []any {
	return []any{v.key.ID, string(v.key.Account), v.state.ExpiresAt.UnixMicro()}
}

func (m *model) writePlaces(ctx context.Context, b *batch) error {
	for shard, at := range b.places {
		if at.seq == m.places[shard].seq {
			continue
		}
		if _, err := m.statements.position.ExecContext(ctx, int64(shard), int64(at.seq), int64(at.number), at.hash[:]); err != nil {
			return err
		}
	}
	return nil
}

// writePayments writes the newest rows of payments, and their blocks.
func (m *model) writePayments(ctx context.Context, b *batch) error {
	if len(b.payments.list) == 0 {
		return nil
	}
	if err := m.loadPacker(ctx); err != nil {
		return err
	}
	for i := range b.payments.list {
		v := &b.payments.list[i]
		if !v.state.Exists() {
			continue // it only claims an idempotency key
		}
		write := m.updatePayment
		if v.before == 0 {
			write = m.insertPayment
		}
		if err := write(ctx, v); err != nil {
			return err
		}
	}
	return m.pack(ctx)
}

// insertPayment writes the first row of a payment.
func (m *model) insertPayment(ctx context.Context, v *view[payment.State]) error {
	result, err := m.statements.insertPayment.ExecContext(ctx, paymentRow(v)...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(misfit(v), err)
	}
	m.packer.rows, err = result.LastInsertId()
	return err
}

// paymentRow returns the values of a payment's row, in the order of the table's columns.
func paymentRow(v *view[payment.State]) []any {
	s := &v.state
	target, due := targetOf(s), waitingOf(s)
	return []any{
		v.key.ID, string(v.key.Account), int64(v.shard),
		int64(v.seq), int64(v.revision), s.CreatedAt.UnixMicro(), s.UpdatedAt.UnixMicro(), string(s.Status()),
		s.OrderID, s.CustomerID, string(s.Session), string(s.Currency), int64(s.Amount), string(target.Processor),
		target.MerchantID, s.Method.Type, s.Method.Card.Last4Digits, string(s.Method.Card.Network),
		s.EmailHash, due.at, due.turn, due.state, due.kind,
	}
}

// updatePayment updates the row of a payment. If the payment is old enough to be in a block, the update also returns its
// row number for the packer.
func (m *model) updatePayment(ctx context.Context, v *view[payment.State]) error {
	s := &v.state
	target, due := targetOf(s), waitingOf(s)
	args := []any{
		int64(v.seq), int64(v.revision), s.UpdatedAt.UnixMicro(), string(s.Status()), int64(s.Amount), string(target.Processor),
		target.MerchantID, due.at, due.turn, due.state, due.kind, v.key.ID, int64(v.before),
	}
	if s.CreatedAt.UnixMicro() <= m.packer.newest {
		var row int64
		err := m.statements.updatePaymentRow.QueryRowContext(ctx, args...).Scan(&row)
		if errors.Is(err, sql.ErrNoRows) {
			return misfit(v)
		}
		m.packer.changed(row, v)
		return err
	}
	result, err := m.statements.updatePayment.ExecContext(ctx, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(misfit(v), err)
	}
	return nil
}

// misfit is the error for a row whose revision its next event does not follow.
func misfit(v *view[payment.State]) error {
	return fmt.Errorf("%w: %s revision %d does not fit what is there", sqlitefile.ErrStale, v.key, v.revision)
}

// targetOf returns the processor account of the newest authorization.
func targetOf(s *payment.State) (target payment.Target) {
	if op := s.Authorization(); op != nil {
		target = op.Target
	}
	return target
}

// waiting has the due columns of a payment's row; all are nil if the payment waits for nothing.
type waiting struct{ at, turn, state, kind any }

// waitingOf returns the first operation without an outcome, or else the action of the customer.
func waitingOf(s *payment.State) (w waiting) {
	for _, op := range s.Operations {
		if op.State.Open() {
			return waiting{op.RequestedAt.UnixMicro(), pending.Turn(op.RequestedAt), string(op.State), string(op.Kind)}
		}
	}
	if action := s.RequiredAction(); action != nil {
		held, _ := s.Operation(action.Revision)
		return waiting{action.ExpiresAt.UnixMicro(), nil, string(payment.StateAction), string(held.Kind)}
	}
	return w
}
