package compare

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
	"payledger/eventstore/verify"
	"payledger/projections/deliveries"
	"payledger/projections/sqlitefile"
)

// DeliveriesRemedy is the advice for an index of deliveries that differs from the log.
const DeliveriesRemedy = "the index of deliveries holds no facts of its own: stop the service, remove views/deliveries.sqlite* from its data folder, and start it to rebuild it from the log"

// RowOf returns the row of a delivery's record.
type RowOf func(deliverylog.Record) (deliveries.Row, error)

// Deliveries is one comparison of the index of deliveries with its log. Only one goroutine may use
// it.
type Deliveries struct {
	rows   source
	rowOf  RowOf
	report func(verify.Fault) error
	log    *deliverylog.Stream // nil: the service is stopped

	mark   deliveries.Mark // stopped: the last applied record
	marked bool            // the log has the mark's record
	end    uint64          // live: the last record that is compared
	before int             // live: rows at the beginning
	first  uint64          // place of the first record in the log
	names  int             // in the log
	shown  int             // rows that were compared
	read   []read
}

type read struct {
	stream string
	row    deliveries.Row
}

// StoppedDeliveries starts the comparison of a stopped service's file.
func StoppedDeliveries(ctx context.Context, file *sql.DB, rowOf RowOf, report func(verify.Fault) error) (*Deliveries, error) {
	d := &Deliveries{rows: still(file), rowOf: rowOf, report: report}
	var err error
	d.mark, err = d.readMark(ctx)
	return d, err
}

// LiveDeliveries starts the comparison of a running service's index, which must show the records up
// to end.
func LiveDeliveries(ctx context.Context, x *deliveries.Index, log *deliverylog.Stream, end uint64, rowOf RowOf, report func(verify.Fault) error) (*Deliveries, error) {
	if err := x.WaitFor(ctx, end); err != nil {
		return nil, err
	}
	d := &Deliveries{rows: x.WithRows, rowOf: rowOf, report: report, log: log, end: end}
	var err error
	d.before, err = d.count(ctx, `SELECT count(*) FROM deliveries WHERE seq <= ?`, end)
	return d, err
}

func (d *Deliveries) readMark(ctx context.Context) (at deliveries.Mark, err error) {
	return at, d.rows(ctx, func(file *sql.DB) error {
		if at, err = deliveries.ReadMark(ctx, file); err != nil {
			return fmt.Errorf("the index of deliveries cannot be read: %w", err)
		}
		return nil
	})
}

func (d *Deliveries) count(ctx context.Context, query string, args ...any) (n int, err error) {
	return n, d.rows(ctx, func(file *sql.DB) error { return file.QueryRowContext(ctx, query, args...).Scan(&n) })
}

// Add adds the next record of the log.
func (d *Deliveries) Add(ctx context.Context, stream string, r *eventstore.Recorded) error {
	if d.first == 0 {
		d.first = r.Seq
	}
	record := deliverylog.RecordOf(r)
	if d.log == nil && r.Seq > d.mark.Seq {
		return nil // the next start applies it
	}
	if d.log != nil && r.Seq > d.end {
		return nil // it came after the comparison began: the index may not show it yet
	}
	if r.Seq == d.mark.Seq {
		d.marked = d.mark.Name == record.Name && d.mark.Hash == sha256.Sum256(record.Body)
	}
	if !record.IsDelivery() {
		return nil
	}
	if r.PrevSeq < d.first { // the first record of its name in the log
		d.names++
	}
	row, err := d.rowOf(record)
	if err != nil {
		return d.report(verify.Fault{Stream: stream, Sequence: format.GroupOf(r.Seq), Difference: err.Error()})
	}
	if d.read = append(d.read, read{stream, row}); len(d.read) < batchRows {
		return nil
	}
	return d.flush(ctx)
}

func (d *Deliveries) flush(ctx context.Context) error {
	all := d.read
	d.read = d.read[:0]
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].row.ID
	}
	rows, err := rowsByID(ctx, d.rows, "deliveries", deliveries.Columns(), ids)
	if err != nil {
		return d.unreadable(ctx, err)
	}
	for _, one := range all {
		want, stream := one.row, one.stream
		have := rows[want.ID]
		if have != nil {
			at, is := have[2].(int64) // seq
			switch {
			case is && uint64(at) == want.Seq:
				d.shown++
			case is && uint64(at) > want.Seq && uint64(at) <= max(d.mark.Seq, d.end):
				continue // a later record is compared
			case is && uint64(at) > d.end && d.log != nil:
				if want, err = d.newer(ctx, uint64(at), want); err != nil {
					return err
				}
			}
		}
		difference := differ("deliveries", deliveries.Columns(), have, deliveries.Values(&want))
		if difference == "" {
			continue
		}
		f := verify.Fault{
			Stream: stream, Sequence: format.GroupOf(want.Seq), Aggregate: "delivery", ID: want.ID, Difference: difference + "; " + DeliveriesRemedy,
		}
		if want.Aggregate == eventstore.Payments.Name {
			f.Difference = "of payment " + want.AggregateID + ": " + f.Difference
		}
		if err := d.report(f); err != nil {
			return err
		}
	}
	return nil
}

// newer returns the row of a record that was appended after the comparison began; the given row if
// there is no such record.
func (d *Deliveries) newer(ctx context.Context, at uint64, given deliveries.Row) (deliveries.Row, error) {
	r, err := d.log.At(ctx, at)
	if errors.Is(err, eventstore.ErrNotFound) || err == nil && r.Name != given.Name {
		return given, nil
	}
	if err != nil {
		return given, err
	}
	return d.rowOf(r)
}

// Finish compares the remaining rows, their number and the mark, and checks the file. The note
// lists the rows that were not compared.
func (d *Deliveries) Finish(ctx context.Context) (note string, err error) {
	if err := d.flush(ctx); err != nil {
		return "", err
	}
	old, err := d.count(ctx, `SELECT count(*) FROM deliveries WHERE seq < ?`, d.first)
	if err == nil {
		err = d.finish(ctx, old)
	} else {
		err = d.unreadable(ctx, err)
	}
	if err == nil && old > 0 {
		note = fmt.Sprintf("%d deliveries were not compared: their records were dropped after --delivery-retention", old)
	}
	return note, err
}

func (d *Deliveries) finish(ctx context.Context, old int) error {
	there := d.before - old
	if d.log == nil {
		all, err := d.count(ctx, `SELECT count(*) FROM deliveries`)
		if err != nil {
			return d.unreadable(ctx, err)
		}
		there = all - old
		if d.shown < d.names {
			return d.fault("%d of its rows show a record that is not the delivery's", d.names-d.shown)
		}
		if d.mark.Seq >= max(d.first, 1) && !d.marked {
			return d.fault("its mark is no record of the log")
		}
	}
	if there > d.names {
		return d.fault("it has %d rows of deliveries that the log does not have", there-d.names)
	}
	return d.rows(ctx, func(file *sql.DB) error {
		var failed error
		err := deliveries.CheckCounts(ctx, file, func(difference string) error {
			failed = d.fault("%s", difference)
			return failed
		})
		if err != nil && failed == nil {
			err = d.unreadable(ctx, err)
		}
		if err != nil {
			return err
		}
		broken, err := sqlitefile.Check(ctx, file, deliveries.Tables)
		if err == nil && broken != "" {
			err = d.fault("its file is damaged: %s", broken)
		}
		return err
	})
}

func (d *Deliveries) fault(format string, args ...any) error {
	return d.report(verify.Fault{Difference: "the index of deliveries: " + fmt.Sprintf(format, args...) + "; " + DeliveriesRemedy})
}

func (d *Deliveries) unreadable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return d.fault("it cannot be read: %s", err)
}
