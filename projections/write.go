package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payledger/domain/payment"
	"payledger/eventstore/pending"
)

// write is the transaction; what ends before its COMMIT did not happen.
func (m *model) write(ctx context.Context, b *batch) error {
	if _, err := m.statements.begin.ExecContext(ctx); err != nil {
		return fmt.Errorf("projections: begin: %w", err)
	}
	err := m.writeRows(ctx, b)
	if err == nil {
		err = m.writePlaces(ctx, b)
	}
	if err == nil {
		if _, err = m.statements.commit.ExecContext(ctx); err == nil {
			return nil
		}
	}
	_, rollbackErr := m.statements.rollback.ExecContext(ctx)
	return errors.Join(fmt.Errorf("projections: write: %w", err), rollbackErr)
}

func (m *model) writeRows(ctx context.Context, b *batch) error {
	for i := range b.payments.list {
		if err := m.writePayment(ctx, &b.payments.list[i]); err != nil {
			return err
		}
	}
	for _, v := range b.sessions.list {
		if _, err := m.statements.upsertSession.ExecContext(ctx, v.key.ID, string(v.key.Account), v.state.ExpiresAt.UnixMicro()); err != nil {
			return err
		}
	}
	if err := m.writeTools(ctx, b); err != nil {
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

// writePayment writes the newest row of a payment.
func (m *model) writePayment(ctx context.Context, v *view[payment.State]) error {
	s := &v.state
	if !s.Exists() {
		return nil // the claim of an idempotency key is no payment
	}
	target := targetOf(s)
	due := waitingOf(s)
	var result sql.Result
	var err error
	if v.before == 0 {
		result, err = m.statements.insertPayment.ExecContext(ctx, v.key.ID, string(v.key.Account), int64(v.shard),
			int64(v.seq), int64(v.revision), s.CreatedAt.UnixMicro(), s.UpdatedAt.UnixMicro(), string(s.Status()),
			s.OrderID, s.CustomerID, string(s.Session), string(s.Currency), int64(s.Amount), string(target.Processor),
			target.MerchantID, s.Method.Type, s.Method.Card.Last4Digits, string(s.Method.Card.Network),
			s.EmailHash, due.at, due.turn, due.state, due.kind)
	} else {
		result, err = m.statements.updatePayment.ExecContext(ctx, int64(v.seq), int64(v.revision),
			s.UpdatedAt.UnixMicro(), string(s.Status()), int64(s.Amount), string(target.Processor),
			target.MerchantID, due.at, due.turn, due.state, due.kind, v.key.ID, int64(v.before))
	}
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("%w: %s revision %d does not fit what is there", errStale, v.key, v.revision), err)
	}
	return nil
}

// targetOf is where the newest try of the authorization went.
func targetOf(s *payment.State) (target payment.Target) {
	if op := s.Authorization(); op != nil {
		target = op.Target
	}
	return target
}

// waiting is what a payment's row says about the first thing that it waits for; nothing: all are nil.
type waiting struct{ at, turn, state, kind any }

// waitingOf finds what a payment waits for first: an operation without an outcome, or its customer.
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
