package notifier

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
	"payledger/notifier/delivery"
	"payledger/projections/deliveries"
)

// follow applies the stream to the index until ctx ends or a record cannot be read: the error names
// the record. After a page that is not full, follow lets records gather: the record of a delivery
// that is sent meanwhile replaces the record of its planning.
func (l *AttemptLog) follow(ctx context.Context) error {
	return l.stream.Follow(ctx, l.Index.Mark().Seq+1, func(page []deliverylog.Record) error {
		if err := l.apply(ctx, page); err != nil || len(page) >= deliverylog.FullPage {
			return err
		}
		return l.Index.Gather(ctx)
	})
}

// resetIfForeign empties the index if the stream does not have its mark: it is of another stream,
// or the record was lost or dropped.
func (l *AttemptLog) resetIfForeign(ctx context.Context) error {
	mark := l.Index.Mark()
	if mark.Seq == 0 {
		return nil
	}
	there, err := l.stream.At(ctx, mark.Seq)
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) && !errors.Is(err, deliverylog.ErrDropped) {
		return err
	}
	if err == nil && there.Seq == mark.Seq && there.Name == mark.Name && sha256.Sum256(there.Body) == mark.Hash {
		return nil
	}
	l.Notifier.Logger.Warn().Uint64("seq", mark.Seq).Msg("the index of deliveries is of another stream; it is made anew")
	return l.Index.Reset(ctx)
}

func (l *AttemptLog) apply(ctx context.Context, page []deliverylog.Record) error {
	rows, mark, err := rowsOf(page)
	if err != nil {
		return err
	}
	if err := l.Index.Apply(ctx, rows, mark); err != nil {
		return err
	}
	l.noteLag(page)
	for _, r := range rows {
		if r.Status != string(delivery.Planned) {
			l.replays.Attempted(r.Name)
		}
	}
	return nil
}

// noteLag hands the lags of records that the index shows now to Lagged. A start applies older
// records, which waited for the start.
func (l *AttemptLog) noteLag(page []deliverylog.Record) {
	if l.Lagged == nil {
		return
	}
	now := l.Now()
	for _, stored := range page {
		if !stored.Time.Before(l.began) {
			l.Lagged(max(0, now.Sub(stored.Time)))
		}
	}
}

func rowsOf(page []deliverylog.Record) (rows []deliveries.Row, mark deliveries.Mark, err error) {
	rows = make([]deliveries.Row, 0, len(page))
	for _, stored := range page {
		if !stored.IsDelivery() {
			continue
		}
		row, err := RowOf(stored)
		if err != nil {
			return nil, mark, fmt.Errorf("deliveries: the record at %d: %w", stored.Seq, err)
		}
		rows = append(rows, row)
	}
	last := page[len(page)-1]
	return rows, deliveries.Mark{Seq: last.Seq, Name: last.Name, Hash: sha256.Sum256(last.Body)}, nil
}

// RebuildIndex makes an index again from the stream of deliveries, and then uses the new file.
// progress gets the reached place and the last.
func RebuildIndex(ctx context.Context, index *deliveries.Index, stream *deliverylog.Stream, progress func(at, end uint64)) error {
	return index.Rebuild(ctx, deliveries.Source{
		First: func() uint64 { return format.At(stream.Floor().Seq+1, 0) },
		End:   stream.End,
		Read: func(ctx context.Context, from uint64, apply func([]deliveries.Row, deliveries.Mark) error) error {
			return stream.Follow(ctx, from, func(page []deliverylog.Record) error {
				rows, mark, err := rowsOf(page)
				if err != nil {
					return err
				}
				return apply(rows, mark)
			})
		},
	}, progress)
}

// RowOf returns the row of a delivery's record in the index.
func RowOf(stored deliverylog.Record) (deliveries.Row, error) {
	d, err := delivery.Decode(stored)
	if err != nil {
		return deliveries.Row{}, err
	}
	return rowOf(stored.Seq, d), nil
}

func rowOf(seq uint64, d delivery.Delivery) deliveries.Row {
	r := deliveries.Row{
		ID: d.ID(), Name: d.Name(), Seq: seq, Account: d.Account, Endpoint: d.Endpoint, EventType: string(d.Kind),
		EventID: d.EventID, Aggregate: d.Aggregate, AggregateID: d.AggregateID, Status: string(d.Status),
		PlannedAt: d.PlannedAt, UpdatedAt: d.PlannedAt, NextAt: d.NextAt, Attempts: len(d.Attempts),
	}
	if n := len(d.Attempts); n > 0 {
		a := d.Attempts[n-1]
		r.UpdatedAt = a.End()
		r.StatusCode, r.Failure = a.StatusCode, string(a.Failure)
	}
	for _, a := range d.Attempts {
		switch {
		case a.Failure != "":
			r.Failed++
		case r.SucceededBy == 0:
			r.SucceededAt, r.SucceededBy = a.End(), a.Number
		}
	}
	return r
}

func detailOf(seq uint64, d delivery.Delivery) deliveries.Detail {
	detail := deliveries.Detail{Row: rowOf(seq, d), Tried: make([]deliveries.Attempt, len(d.Attempts))}
	for i, a := range d.Attempts {
		detail.Tried[i] = deliveries.Attempt{
			Number: a.Number, StartedAt: a.StartedAt, Duration: time.Duration(a.Duration) * time.Microsecond,
			StatusCode: a.StatusCode, Failure: string(a.Failure), Manual: a.Manual, Excerpt: a.Excerpt, Keys: a.Keys,
		}
	}
	return detail
}
