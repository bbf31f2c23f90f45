package export_test

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/projections/export"
	"payledger/projections/paymentjson"
)

// TestDetails: a payment's row has its session, country, metadata, 3-D Secure outcome and checks,
// in every format, also after an event that does not repeat the session, and in an appended export.
// A payment without them has nulls.
func TestDetails(t *testing.T) {
	f := newFeed(1)
	f.grow(1)
	full := f.payments["payment-0000"]
	full.Order = &domain.Order{CountryCode: "DE"}
	full.Metadata = domain.Metadata{"shop": "=north", "big": json.Number("9007199254740993"), "new": true}
	full.PaymentMethod.ThreeDSecureAuthentication = &paymentjson.ThreeDSecure{ResponseCode: "CHALLENGE"}
	full.RiskData = &paymentjson.RiskData{
		FraudChecks: &paymentjson.FraudChecks{PreAuthorizationResult: "ACCEPT", PostAuthorizationResult: "REVIEW"},
		CVVCheck:    &paymentjson.CVVCheck{Result: "MATCHED"}, AVSCheck: &paymentjson.AVSCheck{Result: &paymentjson.AVSResult{StreetAddress: "MATCHED", PostalCode: "NOT_MATCHED"}},
	}
	f.all = nil
	e := export.Event{Position: 1, ID: "1", Time: full.Date, Account: "acct", Revision: 1, Hash: "00", Fact: json.RawMessage(`{"sessionId":"#0123"}`)}
	f.show(&e, "payment.created", full)
	f.all = append(f.all, e)
	f.grow(1) // another payment, or a change of this one
	for e := f.all[0]; len(f.all) < 3; {
		e.Position, e.ID, e.Revision, e.Fact = uint64(len(f.all)+1), "3", 2, json.RawMessage(`{}`)
		f.all = append(f.all, e)
	}
	want := record{
		"session_id": "#0123", "country": "DE", "metadata": `{"big":9007199254740993,"new":true,"shop":"=north"}`, "three_d_secure": "CHALLENGE",
		"fraud_check_before": "ACCEPT", "fraud_check_after": "REVIEW", "cvv_check": "MATCHED", "avs_street_check": "MATCHED", "avs_postal_code_check": "NOT_MATCHED",
	}
	for _, format := range append(folders, export.SQLite) {
		out := target(t, format)
		run(t, export.Config{Source: &feed{all: f.all[:2]}, Format: format, Out: out})
		after := uint64(2)
		run(t, export.Config{Source: f, Format: format, Out: out, After: &after})
		rows := readBack(t, format, out, "payments")
		row := rows[len(rows)-1]
		for _, one := range rows {
			if one["id"] == "payment-0000" && one["position"] == int64(3) {
				row = one
			}
		}
		for name, value := range want {
			if got := row[name]; got != value {
				t.Errorf("%s: %s is %v, expected %v", format, name, got, value)
			}
		}
	}
	plain := newFeed(2)
	plain.grow(1)
	out := target(t, export.SQLite)
	run(t, export.Config{Source: plain, Format: export.SQLite, Out: out})
	row := readBack(t, export.SQLite, out, "payments")[0]
	for name := range want {
		if value, there := row[name]; there {
			t.Errorf("%s of a plain payment is %v", name, value)
		}
	}
}

// TestAuthorizedAt: a payment of amount 0 is authorized without a hold (D5.9), and has the time of
// its authorization also after later events.
func TestAuthorizedAt(t *testing.T) {
	f := newFeed(1)
	at := func(minute int) paymentjson.Time {
		return paymentjson.Time{Time: start.Add(time.Duration(minute) * time.Minute)}
	}
	p := &paymentjson.Payment{
		ID: "payment-0", Date: at(0), DateUpdated: at(0), CurrencyCode: "EUR",
		Processor: &paymentjson.PaymentProcessor{Name: processor.Adyen, ProcessorMerchantID: "north"},
	}
	for i, status := range []payment.Status{payment.StatusPending, payment.StatusAuthorized, payment.StatusCancelled} {
		p.Status = status
		e := export.Event{Position: uint64(i + 1), ID: strconv.Itoa(i), Time: at(i), Account: "acct", Revision: uint64(i + 1), Hash: "00", Fact: json.RawMessage(`{}`)}
		f.show(&e, "payment.changed", p)
		f.all = append(f.all, e)
	}
	out := target(t, export.SQLite)
	run(t, export.Config{Source: f, Format: export.SQLite, Out: out})
	row := readBack(t, export.SQLite, out, "payments")[0]
	if got, is := row["authorized_at"].(string); !is || !strings.Contains(got, "00:01:00") || row["captured_at"] != nil {
		t.Errorf("authorized at %v, captured at %v", row["authorized_at"], row["captured_at"])
	}
}

// TestOtherColumns: an export of a version with other columns is not continued.
func TestOtherColumns(t *testing.T) {
	f := newFeed(1)
	f.grow(10)
	out := target(t, export.SQLite)
	run(t, export.Config{Source: f, Format: export.SQLite, Out: out})
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(out))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "ALTER TABLE payments DROP COLUMN country"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	after := uint64(10)
	if _, err := export.Run(t.Context(), export.Config{Source: f, Format: export.SQLite, Out: out, After: &after}); err == nil || !strings.Contains(err.Error(), "with other columns") {
		t.Errorf("the export is continued: %v", err)
	}
}
