package projections

import (
	"context"
	"fmt"
	"slices"
	"time"

	"payledger/domain"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/eventstore"
	"payledger/projections/sqlitefile"
)

// disputeRow returns nil for a dispute that was never opened: every notification about it was rejected.
func disputeRow(v *view[dispute.State]) []any {
	s := &v.state
	if !s.Exists() {
		return nil
	}
	return []any{
		v.key.ID, string(v.key.Account), int64(v.revision), s.CreatedAt.UnixMicro(),
		string(s.Subject.Payment), s.Subject.OrderID, string(s.Subject.Processor), s.Subject.ProcessorDisputeID,
		string(s.Current.Type), string(s.Current.Status), s.Current.ReasonCode,
	}
}

// inboxRow returns nil if no notification waits.
func inboxRow(v *view[inbox.State]) []any {
	waiting := v.state.Waiting()
	if len(waiting) == 0 {
		return nil
	}
	return []any{v.key.ID, string(waiting[0].Processor), waiting[0].ReceivedAt.UnixMicro()}
}

// DisputeFilter selects disputes of an account (D20). A dispute fits a field if it has one of its values; an empty field
// does not filter.
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
}

// DisputePlace is a place in the order in which disputes were opened.
type DisputePlace struct {
	At time.Time
	ID domain.DisputeID
}

// DisputePage is one page of a list, newest first; Next is nil at its end.
type DisputePage struct {
	Data []dispute.State
	Next *DisputePlace
}

// ListDisputes reads a page of at most limit disputes of an account, newest first, after from; nil is the newest end. The
// page has everything that this node recorded before the call, and every dispute in it fits the filter.
func (p *Projections) ListDisputes(ctx context.Context, account domain.AccountID, f DisputeFilter, from *DisputePlace, limit int) (DisputePage, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if err := p.appendedHere(ctx); err != nil {
		return DisputePage{}, unavailable(err)
	}
	found, err := p.disputes(ctx, account, f, from, limit+1)
	if err != nil {
		return DisputePage{}, unavailable(fmt.Errorf("projections: disputes: %w", err))
	}
	page := DisputePage{Data: found}
	if len(found) > limit {
		page.Data = found[:limit]
		page.Next = disputePlace(page.Data[limit-1])
	}
	return page, nil
}

// disputes reads up to n disputes after from, as ListPayments does.
func (p *Projections) disputes(ctx context.Context, account domain.AccountID, f DisputeFilter, from *DisputePlace, n int) ([]dispute.State, error) {
	kept := []dispute.State{}
	for {
		want := n - len(kept)
		query, args := disputeQuery(account, f, from, want)
		m, done := p.reading()
		rows, err := readKeys(ctx, m, func(id string) eventstore.Key { return eventstore.Disputes.Key(account, id) }, query, args...)
		done()
		if err != nil {
			return nil, err
		}
		states, err := tips(ctx, p.Store, eventstore.Disputes, rows)
		if err != nil {
			return nil, err
		}
		for _, s := range states {
			if f.holds(s) {
				kept = append(kept, s)
			}
		}
		if len(rows) < want || len(kept) == n {
			return kept, nil
		}
		from = disputePlace(states[len(states)-1])
	}
}

func disputePlace(s dispute.State) *DisputePlace { return &DisputePlace{At: s.CreatedAt, ID: s.ID} }

// holds reports whether the changeable fields of a dispute fit the filter: type, status and reason code.
func (f DisputeFilter) holds(s dispute.State) bool {
	oneOf := func(value string, values []string) bool { return len(values) == 0 || slices.Contains(values, value) }
	return oneOf(string(s.Current.Type), f.Types) && oneOf(string(s.Current.Status), f.Statuses) && oneOf(s.Current.ReasonCode, f.ReasonCodes)
}

// Dispute reads one dispute, linearizable as Payment. A dispute that is unknown or of another account is EntityNotFound.
func (p *Projections) Dispute(ctx context.Context, account domain.AccountID, id domain.DisputeID) (dispute.State, error) {
	s, err := newest(ctx, p, eventstore.Disputes, account, string(id))
	if err == nil && !s.Exists() { // it was never opened
		err = dispute.Unknown()
	}
	return s, err
}

// disputeQuery returns the query of a page, along the most selective index. Few disputes have the same id or status;
// several statuses are read in the order of time.
func disputeQuery(account domain.AccountID, f DisputeFilter, from *DisputePlace, n int) (string, []any) {
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
	if index == "disputes_created" && len(f.Statuses) == 1 {
		index = "disputes_status"
	}
	w.OneOf("status", f.Statuses)
	w.OneOf("type", f.Types)
	w.OneOf("processor", f.Processors)
	w.OneOf("reason_code", f.ReasonCodes)
	w.Between("created_at", f.From, f.To)
	if from != nil {
		at := from.At.UnixMicro()
		w.And("created_at <= ? AND (created_at < ? OR id < ?)", at, at, string(from.ID))
	}
	return "SELECT id, revision FROM disputes INDEXED BY " + index + " WHERE " + w.SQL() +
		" ORDER BY created_at DESC, id DESC LIMIT ?", append(w.Args, n)
}
