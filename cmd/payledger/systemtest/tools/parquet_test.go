//go:build system

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/projections/export"
	"payledger/projections/paymentjson"
)

// runs is a log of payments in blocks of 64: in each block, the payments of one run have a customer and a processor, the others have not.
type runs struct{}

func (runs) Events(_ context.Context, after uint64, handle func(e export.Event, newest uint64) error) error {
	position := uint64(0)
	for from := 0; from < 64; from += 3 {
		for length := 0; length <= 64-from; length += 5 {
			for row := range 64 {
				if position++; position <= after {
					continue
				}
				if err := handle(numbered(position, row >= from && row < from+length), 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func numbered(position uint64, full bool) export.Event {
	at := paymentjson.Time{Time: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC).Add(time.Duration(position) * time.Second)}
	p := &paymentjson.Payment{
		ID: domain.PaymentID(fmt.Sprintf("payment-%06d", position)), Date: at, DateUpdated: at, Status: payment.StatusPending, OrderID: "order",
		CurrencyCode: "EUR", Amount: 100,
	}
	if full {
		p.CustomerID, p.Status = "customer", payment.StatusSettled
		p.Processor = &paymentjson.PaymentProcessor{Name: processor.Adyen, ProcessorMerchantID: "north", AmountCaptured: 100}
	}
	return export.Event{
		Position: position, ID: fmt.Sprint(position), Time: at, Type: "payment.created", Account: "account", Aggregate: "payment", AggregateID: string(p.ID),
		Revision: 1, Actor: "api_key:first", Hash: "00", Fact: json.RawMessage(`{}`), Payment: p,
	}
}

// TestParquetNullsInDuckDB: DuckDB reads the nulls of a Parquet file as nulls, whichever rows around them have values. The expected counts
// are those of a CSV export of the same events.
func TestParquetNullsInDuckDB(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	for _, format := range []export.Format{export.Parquet, export.CSV} {
		if _, err := export.Run(t.Context(), export.Config{Source: runs{}, Format: format, Out: filepath.Join(out, string(format))}); err != nil {
			t.Fatal(err)
		}
	}
	const counts = `SELECT count(*), count(customer_id), count(processor), count(processor_merchant_id), count(authorized_at), count(captured_at), ` +
		`count(nullif(customer_id, '')), count(nullif(processor, '')), bit_xor(hash(id, customer_id, processor, captured_at)) FROM `
	answers, there := apptest.DuckAnswers(t, filepath.Join(out, string(export.Parquet)), []string{
		counts + "payments",
		counts + "(SELECT * REPLACE (captured_at::TIMESTAMPTZ AS captured_at) FROM read_csv('" + filepath.Join(out, "csv", "payments.csv") + "', header = true, nullstr = ''))",
	})
	if there && answers[0] != answers[1] {
		t.Errorf("DuckDB reads Parquet as %s\nand CSV as %s", answers[0], answers[1])
	}
	if there {
		t.Log(answers[0])
	}
}
