package projections

import (
	"context"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/projections/listing"
	"payledger/projections/sqlitefile"
)

// disputeRow returns nil for a dispute that was never opened: every notification about it was
// rejected.
func disputeRow(v *view[dispute.State]) []any {
	s := &v.state
	if !s.Exists() {
		return nil
	}
	var deadline any
	if by := deadlineOf(s); by != nil {
		deadline = by.UnixMicro()
	}
	return []any{
		v.key.ID, string(v.key.Account), int64(v.revision), s.CreatedAt.UnixMicro(),
		string(s.Subject.Payment), s.Subject.OrderID, string(s.Subject.Processor), s.Subject.ProcessorDisputeID,
		string(s.Current.Type), string(s.Current.Status), s.Current.ReasonCode, deadline,
	}
}

// deadlineOf returns the last time to challenge a dispute; nil if it is not open, or has none.
func deadlineOf(s *dispute.State) *time.Time {
	if s.Current.Status != processor.DisputeOpen {
		return nil
	}
	return s.Current.ChallengeBy
}

func inboxRow(v *view[inbox.State]) []any {
	waiting := v.state.Waiting()
	if len(waiting) == 0 {
		return nil
	}
	return []any{v.key.ID, string(waiting[0].Processor), waiting[0].ReceivedAt.UnixMicro()}
}

// DisputeFilter selects disputes of an account (D20) that have one of each field's values; an empty
// field does not filter.
type DisputeFilter struct {
	Types              []string         `json:"type"`
	Statuses           []string         `json:"status"`
	Processors         []string         `json:"processor"`
	ReasonCodes        []string         `json:"reasonCode"`
	Payment            domain.PaymentID `json:"paymentId"`
	OrderID            string           `json:"orderId"`
	ProcessorDisputeID string           `json:"processorDisputeId"`
	From               *time.Time       `json:"from"` // time of creation
	To                 *time.Time       `json:"to"`
	ByDeadline         bool             `json:"byDeadline,omitempty"` // open ones whose deadline is not over Now, the nearest first; else the newest first
	Now                time.Time        `json:"-"`
	BesideRefund       bool             `json:"-"` // no parameter of D20: those that are open or lost (D22.2)
}

// ListDisputes reads a page of at most limit disputes of an account after from, with all that this
// node recorded. Every dispute fits.
func (p *Projections) ListDisputes(ctx context.Context, account domain.AccountID, f DisputeFilter, from *listing.Place, limit int) (listing.Page[dispute.State], error) {
	return current(ctx, p, func(ctx context.Context) (page listing.Page[dispute.State], err error) {
		found, err := p.disputes(ctx, account, f, from, limit+1)
		if err != nil {
			return page, fmt.Errorf("projections: disputes: %w", err)
		}
		return listing.PageOf(found, limit, f.place), nil
	})
}

// refundDisputes is the greatest number of disputes of DisputesBesideRefund.
const refundDisputes = 20

// DisputesBesideRefund returns the newest disputes of a payment that are open or lost (D22.2). It
// waits for the read model to show every event that any node acknowledged before the call.
func (p *Projections) DisputesBesideRefund(ctx context.Context, account domain.AccountID, id domain.PaymentID) ([]dispute.State, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err := p.CaughtUp(ctx)
	var found []dispute.State
	if err == nil {
		found, err = p.disputes(ctx, account, DisputeFilter{Payment: id, BesideRefund: true}, nil, refundDisputes)
	}
	if err != nil {
		return nil, unavailable(fmt.Errorf("projections: disputes of a payment: %w", err))
	}
	return found, nil
}

func (p *Projections) disputes(ctx context.Context, account domain.AccountID, f DisputeFilter, from *listing.Place, n int) ([]dispute.State, error) {
	return filled(ctx, p, eventstore.Disputes, n, func(m *model, _ *dispute.State, most int) ([]rowKey, error) {
		query, args := disputeQuery(account, f, from, most)
		return readRows(ctx, m, func(scan sqlitefile.Scan) (row rowKey, err error) {
			var id string
			var at int64
			err = scan(&id, &row.revision, &at)
			row.key = eventstore.Disputes.Key(account, id)
			from = &listing.Place{At: time.UnixMicro(at), ID: id} // of the row: the newest state may have no deadline
			return row, err
		}, query, args...)
	}, func(s *dispute.State) (bool, error) { return f.holds(*s), nil })
}

// place returns the place of a dispute that fits.
func (f DisputeFilter) place(s dispute.State) *listing.Place {
	if f.ByDeadline {
		return &listing.Place{At: *s.Current.ChallengeBy, ID: string(s.ID)}
	}
	return &listing.Place{At: s.CreatedAt, ID: string(s.ID)}
}

// holds reports whether the changeable fields of a dispute fit the filter: type, status, reason
// code and deadline.
func (f DisputeFilter) holds(s dispute.State) bool {
	if f.BesideRefund && !s.BesideRefund() || f.ByDeadline && !f.inTime(&s) {
		return false
	}
	oneOf := func(value string, values []string) bool { return len(values) == 0 || slices.Contains(values, value) }
	return oneOf(string(s.Current.Type), f.Types) && oneOf(string(s.Current.Status), f.Statuses) && oneOf(s.Current.ReasonCode, f.ReasonCodes)
}

func (f DisputeFilter) inTime(s *dispute.State) bool {
	by := deadlineOf(s)
	return by != nil && !by.Before(f.Now)
}

// Dispute reads one dispute, linearizable as Payment. A dispute that is unknown or of another
// account is EntityNotFound.
func (p *Projections) Dispute(ctx context.Context, account domain.AccountID, id domain.DisputeID) (dispute.State, error) {
	s, err := newest(ctx, p, eventstore.Disputes, account, string(id))
	if err == nil && !s.Exists() { // it was never opened
		err = dispute.NotFound()
	}
	return s, err
}

// disputeQuery returns the query of a page, along the most selective index. Several statuses are
// read in the order of the page.
func disputeQuery(account domain.AccountID, f DisputeFilter, from *listing.Place, n int) (string, []any) {
	index, w := "disputes_created", sqlitefile.Where{}
	w.And("account = ?", string(account))
	for _, id := range []struct{ column, index, value string }{
		{"order_id", "disputes_order", f.OrderID}, {"payment_id", "disputes_payment", string(f.Payment)}, {"foreign_id", "disputes_foreign", f.ProcessorDisputeID},
	} { // the last is the most selective
		if id.value != "" {
			index = id.index
			w.And(id.column+" = ?", id.value)
		}
	}
	switch {
	case index != "disputes_created":
	case f.ByDeadline:
		index = "disputes_deadline"
	case len(f.Statuses) == 1:
		index = "disputes_status"
	}
	w.OneOf("status", f.Statuses)
	w.OneOf("type", f.Types)
	w.OneOf("processor", f.Processors)
	w.OneOf("reason_code", f.ReasonCodes)
	w.Between("created_at", f.From, f.To)
	by, order := "created_at", " DESC"
	if f.ByDeadline {
		by, order = "deadline", ""
		w.And("deadline >= ?", f.Now.UnixMicro())
		if from != nil {
			at := from.At.UnixMicro()
			w.And("deadline >= ? AND (deadline > ? OR id > ?)", at, at, from.ID)
		}
	} else {
		w.After(by, from)
	}
	return "SELECT id, revision, " + by + " FROM disputes INDEXED BY " + index + " WHERE " + w.SQL() +
		" ORDER BY " + by + order + ", id" + order + " LIMIT ?", append(w.Args, n)
}
