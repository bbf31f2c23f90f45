package compare

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/deliverylog"
	"payledger/eventstore/format"
	"payledger/eventstore/verify"
	"payledger/projections/deliveries"
)

// oldest is the place of the first record that was not dropped.
const oldest = 5

// records returns the records of three deliveries. The second has two records; a dropped record
// precedes the third's.
func records() (all []*eventstore.Recorded) {
	add := func(number, place, before uint64, status string) {
		row := deliveries.Row{
			ID: fmt.Sprint("id", number), Name: fmt.Sprintf("acct.end.event%d.PAYMENT-STATUS", number), Seq: format.At(place, 0), Account: "acct", Endpoint: "end",
			EventType: "PAYMENT.STATUS", EventID: fmt.Sprint("event", number), Aggregate: "payment", AggregateID: "pay", Status: status,
			PlannedAt: began, UpdatedAt: began.Add(time.Second), NextAt: began.Add(time.Minute), Attempts: int(number), StatusCode: 503, Failure: "STATUS",
		}
		body, err := json.Marshal(row)
		if err != nil {
			panic(err)
		}
		r := &eventstore.Recorded{
			Key: eventstore.Key{Account: domain.AccountID("acct"), Aggregate: format.DeliveryAggregate, ID: strings.TrimPrefix(row.Name, "acct.")},
			Seq: row.Seq, Body: body,
		}
		if before > 0 {
			r.PrevSeq = format.At(before, 0)
		}
		all = append(all, r)
	}
	add(1, oldest, 0, "SUCCEEDED")
	add(2, oldest+1, 0, "PLANNED")
	add(3, oldest+2, oldest-1, "FAILED")
	add(2, oldest+3, oldest+1, "FAILED")
	return append(all, &eventstore.Recorded{
		Key: eventstore.Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: "beside"}, Seq: format.At(oldest+4, 0), Body: []byte("beside"),
	})
}

func rowOf(r deliverylog.Record) (row deliveries.Row, err error) {
	return row, json.Unmarshal(r.Body, &row)
}

// index projects the records into a file, adds a row of a dropped delivery, and returns the file's
// bytes.
func index(t testing.TB, all []*eventstore.Recorded) []byte {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	x, err := deliveries.Open(ctx, dir, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	rows := []deliveries.Row{{ID: "dropped", Name: "acct.end.old.PAYMENT-STATUS", Seq: format.At(1, 0), Account: "acct", PlannedAt: began}}
	for _, r := range all {
		if record := deliverylog.RecordOf(r); record.IsDelivery() {
			row, err := rowOf(record)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
	}
	last := deliverylog.RecordOf(all[len(all)-1])
	if err := x.Apply(ctx, rows, deliveries.Mark{Seq: last.Seq, Name: last.Name, Hash: sha256.Sum256(last.Body)}); err != nil {
		t.Fatal(err)
	}
	return closed(t, x, filepath.Join(dir, deliveries.FileName))
}

// wrongDeliveries compares a file with the records, and returns the reported faults.
func wrongDeliveries(t testing.TB, file *sql.DB) (all []string) {
	t.Helper()
	ctx := context.Background()
	d, err := StoppedDeliveries(ctx, file, rowOf, func(f verify.Fault) error { all = append(all, f.String()); return nil })
	if err != nil {
		return []string{err.Error() + DeliveriesRemedy}
	}
	for _, r := range records() {
		err = errors.Join(err, d.Add(ctx, "DELIVERIES_2", r))
	}
	note, finished := d.Finish(ctx)
	if err := errors.Join(err, finished); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 && !strings.HasPrefix(note, "1 deliveries were not compared") {
		t.Errorf("the note is %q", note)
	}
	return all
}

// TestDeliveriesColumns: for any column of the index of deliveries the comparison finds a wrong
// value and the right value of a wrong type. It also finds a missing row, an extra row, and a wrong
// mark. An index that is behind the log has no fault.
func TestDeliveriesColumns(t *testing.T) {
	t.Parallel()
	file := index(t, records())
	for name, whole := range map[string][]byte{"all": file, "behind": index(t, records()[:3])} {
		if all := wrongDeliveries(t, changed(t, whole, "")); len(all) > 0 {
			t.Errorf("%s: %q", name, all)
		}
	}
	check := func(want, change string) {
		t.Helper()
		differs(t, file, wrongDeliveries, want, "deliveries.sqlite*", change)
	}
	for i, column := range deliveries.Columns() {
		want := " as " + column + " of deliveries"
		if i == 0 {
			want = "have no row of it in deliveries"
		}
		for n, change := range wrongValues("deliveries", column) {
			if column == "seq" && n == 0 {
				want = "1 of its rows show a record that is not the delivery's"
			}
			check(want, change+map[bool]string{true: " AND", false: " WHERE"}[strings.Contains(change, "WHERE")]+" seq > 256 AND id = 'id1'")
		}
	}
	check("DELIVERIES_2 at sequence 8: delivery id2: of payment pay: ", "UPDATE deliveries SET status = 'SUCCEEDED' WHERE id = 'id2'")
	check("have no row of it", "DELETE FROM deliveries WHERE id = 'id3'")
	check("it has 1 rows of deliveries that the log does not have", "INSERT INTO deliveries SELECT 'other', name || 'x', seq, "+
		strings.Join(deliveries.Columns()[3:], ", ")+" FROM deliveries WHERE id = 'id1'")
	check("1 of its rows show a record that is not the delivery's", "UPDATE deliveries SET seq = seq + 1 WHERE id = 'id1'")
	check("its mark is no record of the log", "UPDATE mark SET hash = randomblob(32)")
	check("its mark is no record of the log", "UPDATE mark SET seq = seq + 1")
	check("the counts of account acct from 2026-03-01T12:00:00Z on are not those of its deliveries", "DELETE FROM counts WHERE daily = 0")
	check("the counts of account acct from 2026-03-01 on are not those of its deliveries", "UPDATE counts SET counts = x'00' WHERE daily = 1")
	check("its tables and indexes are other ones", "DROP INDEX deliveries_open; UPDATE mark SET seq = seq")
}

// TestDeliveriesAppendedMeanwhile: records that come after the comparison of a running service's
// index began are not compared: the index need not show them yet.
func TestDeliveriesAppendedMeanwhile(t *testing.T) {
	t.Parallel()
	const shown = 3
	all := records()
	d := &Deliveries{
		rows: still(changed(t, index(t, all[:shown]), "")), rowOf: rowOf, log: new(deliverylog.Stream), end: all[shown-1].Seq,
		report: func(f verify.Fault) error { t.Error(f); return nil },
	}
	var err error
	d.before, err = d.count(t.Context(), `SELECT count(*) FROM deliveries WHERE seq <= ?`, d.end)
	for _, r := range append(all, newDelivery()) {
		err = errors.Join(err, d.Add(t.Context(), "DELIVERIES_2", r))
	}
	if _, finished := d.Finish(t.Context()); err != nil || finished != nil {
		t.Error(err, finished)
	}
}

// newDelivery returns the first record of one more delivery.
func newDelivery() *eventstore.Recorded {
	r := *records()[0]
	r.Key.ID += "-new"
	r.Seq = format.At(oldest+5, 0)
	r.Body = []byte(strings.ReplaceAll(string(r.Body), "id1", "id9"))
	return &r
}
