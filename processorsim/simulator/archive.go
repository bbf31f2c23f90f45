package simulator

import (
	"context"
	"errors"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/simulator/books"
)

// Archive reads the books of a simulator that does not run.
type Archive struct{ books *books.Books }

// OpenArchive reads the books in dir. It fails if a simulator uses them, or for damage elsewhere
// than in a torn last line.
func OpenArchive(dir string) (*Archive, error) {
	b, err := books.Read(dir)
	return &Archive{b}, err
}

// ByReference returns all operations of a payment at a processor, in order of creation.
func (a *Archive) ByReference(ctx context.Context, name processor.Name, reference domain.PaymentID) (found []processor.Record, err error) {
	err = a.read(ctx, protocol.Filter{Processor: name, Reference: reference}, func(r processor.Record) error {
		found = append(found, r)
		return nil
	})
	return found, err
}

// Operations calls handle with each operation that a processor created between two times, both
// included, by creation.
func (a *Archive) Operations(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Record) error) error {
	return a.read(ctx, protocol.Filter{Processor: name, From: from, To: to}, handle)
}

func (a *Archive) read(ctx context.Context, f protocol.Filter, handle func(processor.Record) error) error {
	return a.books.Entries(f, func(e protocol.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return handle(e.Record())
	})
}

// DisputesOf returns all notifications of a processor about disputes of a payment, oldest first.
func (a *Archive) DisputesOf(_ context.Context, name processor.Name, reference domain.PaymentID) ([]processor.Notification, error) {
	reports, err := a.books.ReportsOf(name, reference)
	list := make([]processor.Notification, 0, len(reports))
	for _, t := range reports {
		list = append(list, notificationOf(t))
	}
	return list, err
}

// DisputesReported calls handle with each dispute notification between two of the processor's
// times, both included, oldest first.
func (a *Archive) DisputesReported(ctx context.Context, name processor.Name, from, to time.Time, handle func(processor.Notification) error) error {
	for cursor := ""; ; {
		page, more, err := a.books.ReportsSince(name, from, cursor, protocol.MaxDisputePage)
		if err != nil {
			return err
		}
		for _, t := range page {
			cursor = t.ID
			if at := t.Dispute.UpdatedAt; at.Before(from) || !to.IsZero() && at.After(to) {
				continue
			}
			if err := errors.Join(ctx.Err(), handle(notificationOf(t))); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

func notificationOf(t books.DisputeReport) processor.Notification {
	d := t.Dispute
	return processor.Notification{ID: t.ID, Processor: d.Processor, Kind: processor.Dispute, Reference: d.Reference, Dispute: &processor.DisputeUpdate{
		ID: d.ID, MerchantID: d.ProcessorMerchantID, TransactionID: d.ProcessorTransactionID, Type: d.Type, Status: d.Status,
		ReasonCode: d.ReasonCode, Amount: d.Amount, Currency: d.Currency, ChallengeBy: d.ChallengeRequiredBy, At: d.UpdatedAt,
	}}
}
