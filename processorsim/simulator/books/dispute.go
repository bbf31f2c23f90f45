package books

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

const (
	disputeDelay  = 2 * time.Second // from settlement to the dispute of the disputed card (D13)
	disputeReason = "10.4"          // its scheme code: fraud, the card not present
)

// ErrNoDispute means that there is no dispute of an id.
var ErrNoDispute = errors.New("there is no such dispute")

var challengeDays = map[processor.DisputeType]int{
	processor.Retrieval: 10, processor.Chargeback: 14, processor.Prearbitration: 7,
}

// DisputeReport is the state of a dispute at a notification.
type DisputeReport struct {
	ID        string           `json:"id"` // of the notification
	Dispute   protocol.Dispute `json:"dispute"`
	NotifyURL string           `json:"notifyUrl,omitempty"`
	Sale      string           `json:"sale,omitempty"` // the authorization whose settlement opened it (D13)

	notified bool
}

// disputes is the state of all disputes. They are not operations and have no lines (D14.16).
type disputes struct {
	newest      map[string]*DisputeReport // by dispute id
	reports     []*DisputeReport          // all, in order
	about       map[domain.PaymentID][]*DisputeReport
	byID        map[string]*DisputeReport
	due         map[string]Due // by the authorization's operation: the disputed card's, not opened yet
	unscheduled []Due          // those of due that NextDisputes has not returned
}

// settles records that a sale of the disputed card is settled at a time: no amount of it is held or
// pending.
func (b *Books) settles(s *sale, at time.Time) {
	if s.card.behaviour != disputed || s.disputed || s.captured == 0 || s.capturing > 0 || s.rest() > 0 {
		return
	}
	s.disputed = true
	due := Due{ID: s.op.ID, At: at.Add(disputeDelay), After: disputeDelay}
	b.disputes.due[due.ID] = due
	b.disputes.unscheduled = append(b.disputes.unscheduled, due)
}

// NextDisputes returns the disputes to open that no earlier call returned.
func (b *Books) NextDisputes() []Due {
	b.mu.Lock()
	defer b.mu.Unlock()
	given := b.disputes.unscheduled
	b.disputes.unscheduled = nil
	return given
}

// DueDisputes lists all that are to be opened.
func (b *Books) DueDisputes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.disputes.due))
}

// OpenDue opens the disputes of settled sales, except open ones, and returns when they are durable.
func (b *Books) OpenDue(ids ...string) (opened []DisputeReport, err error) {
	err = b.durably(func() error {
		for _, id := range ids {
			if _, due := b.disputes.due[id]; !due {
				continue
			}
			s := b.sales[b.byID[id].Answer.ProcessorTransactionID]
			t, err := b.newDispute(s, protocol.DisputeOrder{Type: processor.Chargeback, ReasonCode: disputeReason})
			if err != nil {
				return err
			}
			t.Sale = id
			if err := b.report(t); err != nil {
				return err
			}
			opened = append(opened, *t)
		}
		return nil
	})
	return opened, err
}

// OpenDispute opens a dispute of the newest approved authorization of a reference (D14.15).
func (b *Books) OpenDispute(o protocol.DisputeOrder) (opened DisputeReport, err error) {
	err = b.durably(func() error {
		s, err := b.newestSale(o.Reference)
		if err != nil {
			return err
		}
		t, err := b.newDispute(s, o)
		if err != nil {
			return err
		}
		opened = *t
		return b.report(t)
	})
	return opened, err
}

// ChangeDispute changes a dispute's type or status, even to an impossible one.
func (b *Books) ChangeDispute(id string, c protocol.DisputeChange) (changed DisputeReport, err error) {
	err = b.durably(func() error {
		before, known := b.disputes.newest[id]
		if !known {
			return ErrNoDispute
		}
		d, err := b.newDraft()
		if err != nil {
			return err
		}
		t := &DisputeReport{ID: "nt_" + d.id, Dispute: before.Dispute, NotifyURL: b.notifyURL(before.Dispute.Reference)}
		t.Dispute.Status, t.Dispute.UpdatedAt = c.Status, after(before.Dispute.UpdatedAt, d.at)
		if c.Type != "" && c.Type != t.Dispute.Type {
			t.Dispute.Type, t.Dispute.ChallengeRequiredBy = c.Type, challengeBy(c.Type, d.at)
		}
		changed = *t
		return b.report(t)
	})
	return changed, err
}

func (b *Books) report(t *DisputeReport) error {
	return b.write(record{Type: disputedRecord, At: t.Dispute.UpdatedAt, Report: t})
}

// newDispute returns the first report of a dispute of the sale's newest capture, else of its
// authorization (D16).
func (b *Books) newDispute(s *sale, o protocol.DisputeOrder) (*DisputeReport, error) {
	d, err := b.newDraft()
	if err != nil {
		return nil, err
	}
	at := d.at.Truncate(time.Microsecond)
	t := &DisputeReport{ID: "nt_" + d.id, NotifyURL: b.notifyURL(s.op.Reference), Dispute: protocol.Dispute{
		ID: "dp_" + d.id, Processor: s.op.Processor, ProcessorMerchantID: s.op.MerchantID, Reference: s.op.Reference,
		ProcessorTransactionID: s.op.Answer.ProcessorTransactionID, Type: o.Type, Status: processor.DisputeOpen,
		ReasonCode: o.ReasonCode, Amount: s.captured, Currency: s.op.Currency,
		ChallengeRequiredBy: challengeBy(o.Type, at), CreatedAt: at, UpdatedAt: at,
	}}
	for _, op := range b.byReference[s.op.Reference] {
		if c, ok := b.captures[op.Answer.ProcessorTransactionID]; ok && c.sale == s && c.state == processor.Succeeded {
			t.Dispute.ProcessorTransactionID = op.Answer.ProcessorTransactionID
		}
	}
	switch {
	case o.Amount != nil:
		t.Dispute.Amount = *o.Amount
	case s.captured == 0:
		t.Dispute.Amount = s.authorized
	}
	return t, nil
}

func challengeBy(stage processor.DisputeType, from time.Time) time.Time {
	day := from.UTC().AddDate(0, 0, challengeDays[stage])
	return time.Date(day.Year(), day.Month(), day.Day(), 23, 59, 59, 0, time.UTC)
}

// after returns now, or the first moment after then if that is later: a dispute's changes have an
// order.
func after(then, now time.Time) time.Time {
	now = now.Truncate(time.Microsecond)
	if !now.After(then) {
		return then.Add(time.Microsecond)
	}
	return now
}

func (b *Books) notifyURL(reference domain.PaymentID) string {
	for _, o := range slices.Backward(b.byReference[reference]) {
		if o.NotifyURL != "" {
			return o.NotifyURL
		}
	}
	return ""
}

func (b *Books) foldDisputed(t *DisputeReport) error {
	if t == nil || t.ID == "" || !strings.HasPrefix(t.Dispute.ID, "dp_") || b.disputes.byID[t.ID] != nil {
		return fmt.Errorf("disputed record without a report")
	}
	delete(b.disputes.due, t.Sale)
	b.disputes.unscheduled = slices.DeleteFunc(b.disputes.unscheduled, func(d Due) bool { return d.ID == t.Sale })
	b.disputes.newest[t.Dispute.ID], b.disputes.byID[t.ID] = t, t
	b.disputes.reports = append(b.disputes.reports, t)
	b.disputes.about[t.Dispute.Reference] = append(b.disputes.about[t.Dispute.Reference], t)
	return nil
}

// Unreported lists the undelivered reports in order, to be sent after Open.
func (b *Books) Unreported() []DisputeReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []DisputeReport
	for _, t := range b.disputes.reports {
		if !t.notified && t.NotifyURL != "" {
			left = append(left, *t)
		}
	}
	return left
}

// ReportsSince returns up to n reports of a processor, oldest first, and whether there are more:
// after the report after, or from since.
func (b *Books) ReportsSince(name processor.Name, since time.Time, after string, n int) (page []DisputeReport, more bool, err error) {
	err = b.durably(func() error {
		reports, start := b.disputes.reports, 0
		if after != "" {
			start = 1 + slices.IndexFunc(reports, func(t *DisputeReport) bool { return t.ID == after })
		}
		if after != "" && start == 0 {
			return protocol.ErrUnknownCursor
		}
		for _, t := range reports[start:] {
			if t.Dispute.Processor != name || after == "" && t.Dispute.UpdatedAt.Before(since) {
				continue
			}
			if more = len(page) == n; more {
				break
			}
			page = append(page, *t)
		}
		return nil
	})
	return page, more, err
}

// ReportsOf returns all reports of a processor about the disputes of a payment, oldest first.
func (b *Books) ReportsOf(name processor.Name, reference domain.PaymentID) (reports []DisputeReport, err error) {
	err = b.durably(func() error {
		for _, t := range b.disputes.about[reference] {
			if t.Dispute.Processor == name {
				reports = append(reports, *t)
			}
		}
		return nil
	})
	return reports, err
}
