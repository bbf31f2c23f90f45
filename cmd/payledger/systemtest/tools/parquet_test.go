//go:build system

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
	"payledger/projections/deliveries"
	"payledger/projections/export"
	"payledger/projections/paymentjson"
)

// columns is the number of optional columns of payments that change independently of each other.
const columns = 17

// pattern is a block of 64 rows; a 1 is a row with a value.
type pattern uint64

// patterns are all runs of values in a block, and random blocks.
func patterns(random *rand.Rand) (all []pattern) {
	for from := range 64 {
		for length := range 65 - from {
			all = append(all, (1<<length-1)<<from)
		}
	}
	for range 50 {
		all = append(all, pattern(random.Uint64()), pattern(random.Uint64()&random.Uint64()&random.Uint64()), pattern(random.Uint64()|random.Uint64()|random.Uint64()))
	}
	return all
}

// sparse is a log of payments in blocks of 64, each with a delivery, and of some disputes between
// them. In each block, each optional column has a pattern of its own, and each pattern is in a
// column of payments.
type sparse struct {
	events     []export.Event
	deliveries []deliveries.Recorded
	until      uint64 // the events and deliveries up to this position exist; 0: all
}

func newSparse(random *rand.Rand) *sparse {
	s, all := &sparse{}, patterns(random)
	random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] }) // otherwise the same column has similar ones
	for block := range (len(all) + columns - 1) / columns {
		of := func(column, row int) bool { return all[(block*columns+column)%len(all)]>>row&1 == 1 }
		for row := range 64 {
			s.pay(func(column int) bool { return of(column, row) })
			if of(3, row) && of(5, row) {
				s.dispute()
			}
		}
	}
	return s
}

func (s *sparse) event(kind string) export.Event {
	position := uint64(len(s.events) + 1)
	return export.Event{
		Position: position, ID: fmt.Sprint(position), Time: paymentjson.Time{Time: time.Date(2026, 3, 14, 9, 0, 0, int(position)*1000, time.UTC)},
		Account: "account", Aggregate: kind, AggregateID: fmt.Sprintf("%s-%06d", kind, position), Type: kind + ".created", Revision: 1,
		Actor: "api_key:first", Hash: "00", Fact: json.RawMessage(`{}`),
	}
}

// pay adds a payment with the columns that has chooses, and its delivery.
func (s *sparse) pay(has func(column int) bool) {
	e := s.event("payment")
	text := func(column int, value string) string {
		if has(column) {
			return value
		}
		return ""
	}
	p := &paymentjson.Payment{
		ID: domain.PaymentID(e.AggregateID), Date: e.Time, DateUpdated: e.Time, Status: payment.StatusPending, OrderID: "order", CurrencyCode: "EUR",
		Amount: 100, CustomerID: text(0, "customer"),
		Order:        &domain.Order{CountryCode: text(1, "DE")},
		StatusReason: &paymentjson.StatusReason{Type: domain.Failure(text(2, "ISSUER_DECLINED")), DeclineType: text(9, "SOFT_DECLINE"), Code: text(10, "DO_NOT_HONOR")},
		RiskData: &paymentjson.RiskData{
			FraudChecks: &paymentjson.FraudChecks{PreAuthorizationResult: text(11, "ACCEPT"), PostAuthorizationResult: text(12, "REVIEW")},
			CVVCheck:    &paymentjson.CVVCheck{Result: text(13, "MATCH")},
			AVSCheck:    &paymentjson.AVSCheck{Result: &paymentjson.AVSResult{StreetAddress: text(14, "MATCH"), PostalCode: text(15, "NO_MATCH")}},
		},
	}
	if has(3) {
		p.Processor = &paymentjson.PaymentProcessor{Name: processor.Adyen, ProcessorMerchantID: text(4, "north")}
		if has(5) {
			p.Processor.AmountCaptured = 100
		}
	}
	if has(6) {
		e.Fact = json.RawMessage(`{"sessionId":"session"}`)
	}
	if has(7) {
		p.Metadata = domain.Metadata{"a": "b"}
	}
	if has(8) {
		e.AmountHeld = 100
	}
	p.PaymentMethod.ThreeDSecureAuthentication = &paymentjson.ThreeDSecure{ResponseCode: text(16, "AUTH_SUCCESS")}
	p.PaymentMethod.PaymentMethodData.Network = domain.Network(text(2, "VISA"))
	e.Payment = p
	s.events = append(s.events, e)
	at := func(column int) (of paymentjson.Time) {
		if has(column) {
			of = e.Time
		}
		return of
	}
	d := deliveries.Recorded{
		Place: e.Position, ID: fmt.Sprintf("delivery-%06d", e.Position), Account: e.Account, Endpoint: "endpoint", EventType: "PAYMENT.STATUS",
		EventID: e.ID, Aggregate: "dispute", AggregateID: e.AggregateID, Outcome: "PLANNED", PlannedAt: e.Time, RecordedAt: e.Time,
		FirstAttemptAt: at(2), LastAttemptAt: at(3), DeliveredAt: at(4), NextAt: at(6), LastFailure: text(7, "TIMEOUT"),
	}
	if has(0) {
		d.Aggregate = "payment"
	}
	if has(1) {
		d.LastStatus = 200
	}
	s.deliveries = append(s.deliveries, d)
}

func (s *sparse) dispute() {
	e := s.event("dispute")
	d := &export.Dispute{ID: domain.DisputeID(e.AggregateID), CreatedAt: e.Time, UpdatedAt: e.Time}
	d.Subject.Payment, d.Subject.OrderID = domain.PaymentID(s.events[len(s.events)-1].AggregateID), "order"
	d.Subject.Processor, d.Subject.ProcessorDisputeID = processor.Adyen, e.AggregateID
	d.Current.Type, d.Current.Status, d.Current.Amount, d.Current.Currency = processor.Chargeback, processor.DisputeOpen, 100, "EUR"
	if e.Position%3 == 0 {
		d.Current.Reason = "FRAUD"
	}
	e.Dispute = d
	s.events = append(s.events, e)
}

// Events is the source of an export.
func (s *sparse) Events(_ context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	for _, e := range s.events {
		if e.Position <= after || s.until > 0 && e.Position > s.until {
			continue
		}
		if err := handle(e, 0); err != nil {
			return err
		}
	}
	return nil
}

func (s *sparse) sent(_ context.Context, after uint64, handle func(deliveries.Recorded) error) error {
	for _, d := range s.deliveries {
		if d.Place <= after || s.until > 0 && d.Place > s.until {
			continue
		}
		if err := handle(d); err != nil {
			return err
		}
	}
	return nil
}

// TestParquetNulls: DuckDB and hyparquet read the nulls of Parquet files as nulls, whichever rows
// around them have values. The expected rows are those of exports of the same events as JSON lines
// and as CSV. Increments have the rows of a full export. Both readers notice one null that is an
// empty text, and hyparquet notices a damaged file.
func TestParquetNulls(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	log := newSparse(rand.New(rand.NewPCG(seedtest.Seed(t), 64)))
	run := func(format export.Format, name string, after *uint64) {
		t.Helper()
		if _, err := export.Run(t.Context(), export.Config{Source: log, Deliveries: log.sent, Format: format, Out: filepath.Join(out, name), After: after}); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []export.Format{export.Parquet, export.CSV, export.JSONLines} {
		run(format, string(format), nil)
	}
	last := uint64(len(log.events))
	for after := uint64(0); after < last; after = log.until { // no increment is a multiple of 64
		log.until = min(after+last/3+7, last)
		var from *uint64
		if after > 0 {
			from = &after
		}
		run(export.Parquet, "increments", from)
	}
	whole, wrong, damaged := filepath.Join(out, "parquet"), t.TempDir(), t.TempDir()
	emptied(t, filepath.Join(whole, "payments.parquet"), filepath.Join(wrong, "payments.parquet"))
	file, err := os.ReadFile(filepath.Join(whole, "payments.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	file[len(file)/2] ^= 1
	if err := os.WriteFile(filepath.Join(damaged, "payments.parquet"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("hyparquet", func(t *testing.T) { hyparquetReads(t, out, wrong, damaged) })
	t.Run("DuckDB", func(t *testing.T) { duckReads(t, out, wrong) })
}

func hyparquetReads(t *testing.T, out, wrong, damaged string) {
	rows, there, err := apptest.HyparquetRows(t, filepath.Join(out, "parquet"))
	if !there {
		return
	}
	increments, _, err2 := apptest.HyparquetRows(t, filepath.Join(out, "increments"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	expected := apptest.LineRows(t, filepath.Join(out, "jsonl"))
	for _, table := range []string{"events", "payments", "disputes", "deliveries", "entries"} {
		if n, first := differences(rows[table], expected[table]); n > 0 {
			t.Errorf("%s: hyparquet reads %d of %d rows otherwise than the JSON lines have them: %s", table, n, len(expected[table]), first)
		}
		slices.Sort(rows[table])
		slices.Sort(increments[table])
		if n, first := differences(increments[table], rows[table]); n > 0 {
			t.Errorf("%s: %d of %d rows of the increments are others than those of a full export: %s", table, n, len(rows[table]), first)
		}
		if len(rows[table]) < 1000 {
			t.Errorf("%s: %d rows", table, len(rows[table]))
		}
	}
	if found, _, err := apptest.HyparquetRows(t, wrong); err != nil {
		t.Error(err)
	} else if n, first := differences(found["payments"], expected["payments"]); n != 1 || !strings.Contains(first, `"customer_id":""`) {
		t.Errorf("with one empty text for a null, %d rows differ: %s", n, first)
	}
	if found, _, err := apptest.HyparquetRows(t, damaged); err == nil {
		if n, _ := differences(found["payments"], expected["payments"]); n == 0 {
			t.Error("hyparquet reads a damaged file as if it was whole")
		}
	}
}

// differences returns the number of rows that are not as expected, and the first one of them.
func differences(rows, expected []string) (n int, first string) {
	for i := range max(len(rows), len(expected)) {
		switch {
		case i >= len(rows):
			return n + len(expected) - i, first + " rows are missing"
		case i >= len(expected):
			return n + len(rows) - i, first + " there are more rows"
		case rows[i] != expected[i]:
			if n++; n == 1 {
				first = rows[i] + ", expected " + expected[i]
			}
		}
	}
	return n, first
}

// duckReads compares the nulls and the values of every optional column of three tables.
func duckReads(t *testing.T, out, wrong string) {
	tables := []struct {
		name, key string
		row       any
	}{
		{"payments", "id", export.PaymentRow{}}, {"entries", "concat(position, ' ', line)", export.EntryRow{}}, {"deliveries", "id", export.DeliveryRow{}},
	}
	var queries []string
	for _, table := range tables {
		columns := fingerprints(table.key, table.row)
		for _, from := range []string{
			"read_csv('" + filepath.Join(out, "csv", table.name+".csv") + "', header = true, nullstr = '', all_varchar = true)",
			"'" + filepath.Join(out, "parquet", table.name+"*.parquet") + "'",
			"'" + filepath.Join(out, "increments", table.name+"*.parquet") + "'",
		} {
			queries = append(queries, "SELECT "+columns+" FROM "+from)
		}
	}
	queries = append(queries, "SELECT "+fingerprints(tables[0].key, tables[0].row)+" FROM '"+filepath.Join(wrong, "payments.parquet")+"'")
	answers, there := apptest.DuckAnswers(t, filepath.Join(out, "parquet"), queries)
	if !there {
		return
	}
	for i, table := range tables {
		expected, full, increments := answers[3*i], answers[3*i+1], answers[3*i+2]
		if full != expected || increments != expected {
			t.Errorf("%s: DuckDB reads Parquet as %s\nthe increments as %s\nand CSV as %s", table.name, full, increments, expected)
		}
		t.Log(table.name, expected)
	}
	if found := answers[len(answers)-1]; found == answers[0] {
		t.Error("DuckDB reads an empty text as a null")
	}
}

// fingerprints returns SQL for the number of rows, and for the number of values of each optional
// column and a hash of its cells with the rows' keys.
func fingerprints(key string, row any) string {
	columns := []string{"count(*)"}
	for _, field := range parquet.SchemaOf(row).Fields() {
		if !field.Optional() {
			continue
		}
		value := field.Name()
		if strings.HasSuffix(field.Name(), "_at") {
			value = "epoch_us(" + field.Name() + "::TIMESTAMPTZ)"
		}
		columns = append(columns, fmt.Sprintf("count(%s), bit_xor(hash(concat(%s, ' ', coalesce(%s::VARCHAR, 'null'))))", field.Name(), key, value))
	}
	return strings.Join(columns, ", ")
}

// emptied copies a file of payments with one null that became an empty text.
func emptied(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	reader := parquet.NewReader(source)
	defer reader.Close()
	target, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	writer := parquet.NewWriter(target, reader.Schema())
	customer, found := reader.Schema().Lookup("customer_id")
	done := false
	for rows := make([]parquet.Row, 100); ; {
		n, err := reader.ReadRows(rows)
		for _, row := range rows[:n] {
			if value := &row[customer.ColumnIndex]; found && !done && value.IsNull() {
				*value, done = parquet.ByteArrayValue(nil).Level(0, 1, customer.ColumnIndex), true
			}
		}
		if _, err := writer.WriteRows(rows[:n]); err != nil {
			t.Fatal(err)
		}
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil || !done {
		t.Fatal(err, done)
	}
}
