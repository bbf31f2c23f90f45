package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore/ordered"
	"payledger/httpapi/docs/docstest"
	"payledger/projections/export"
	"payledger/projections/paymentjson"
)

type listed []export.Event

func (l listed) Events(_ context.Context, _ uint64, handle func(e export.Event, newest uint64) error) error {
	for _, e := range l {
		if err := handle(e, uint64(len(l))); err != nil {
			return err
		}
	}
	return nil
}

// sale returns the events of a payment that goes through statuses.
func sale(l listed, statuses ...payment.Status) listed {
	id := domain.PaymentID(fmt.Sprintf("payment-%d", len(l)))
	for i, status := range statuses {
		at := paymentjson.Time{Time: time.Date(2026, 3, 14, 9, 0, len(l), 0, time.UTC)}
		p := &paymentjson.Payment{
			ID: id, Date: at, DateUpdated: at, Status: status, CurrencyCode: "EUR", Amount: 100, Processor: &paymentjson.PaymentProcessor{Name: processor.Adyen},
			Transactions: []paymentjson.Transaction{{TransactionType: "SALE", Date: at, ProcessorStatus: status, ProcessorName: processor.Adyen, CurrencyCode: "EUR", Amount: 100}},
		}
		if status == payment.StatusSettled {
			p.Processor.AmountCaptured = 100
		}
		held := domain.Amount(0)
		if status == payment.StatusAuthorized {
			held = p.Amount
		}
		l = append(l, export.Event{
			Position: uint64(len(l) + 1), ID: fmt.Sprint(len(l)), Time: at, Type: "payment.changed", Account: "account", Aggregate: "payment",
			AggregateID: string(id), Revision: uint64(i + 1), Hash: "00", Fact: json.RawMessage(`{}`), Payment: p, AmountHeld: held,
		})
	}
	return l
}

// TestAuthorizationRate checks that the guide's query counts the payments that a processor approved
// or declined. Payments that wait for a decision, and payments that were cancelled before one, do
// not count.
func TestAuthorizationRate(t *testing.T) {
	t.Parallel()
	log := sale(nil, payment.StatusPending)
	log = sale(log, payment.StatusPending, payment.StatusPending)
	log = sale(log, payment.StatusPending, payment.StatusCancelled)
	log = sale(log, payment.StatusPending, payment.StatusAuthorized, payment.StatusCancelled)
	log = sale(log, payment.StatusPending, payment.StatusAuthorized, payment.StatusSettled)
	log = sale(log, payment.StatusAuthorized)
	log = sale(log, payment.StatusPending, payment.StatusDeclined)
	log = sale(log, payment.StatusPending, payment.StatusFailed)
	path := filepath.Join(t.TempDir(), "tables.sqlite")
	if _, err := export.Run(t.Context(), export.Config{Source: log, Format: export.SQLite, Out: path}); err != nil {
		t.Fatal(err)
	}
	query := regexp.MustCompile("(?m)^\\| authorization rate by processor and day \\| `(.*)` \\|$").FindStringSubmatch(docstest.Read(t, docstest.Guides+"analysts.md"))
	if query == nil {
		t.Fatal("the guide has no authorization rate")
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var name, day string
	var rate float64
	if err := db.QueryRowContext(t.Context(), query[1]).Scan(&name, &day, &rate); err != nil || name != "ADYEN" || day != "2026-03-14" || rate != 0.6 {
		t.Errorf("the rate of %s on %s is %v, expected 0.6: 3 of 5; %v", name, day, rate, err)
	}
}

// TestExportReport checks what an export prints: what it wrote, how to go on, and in one line which
// file stays for that and how to avoid it.
func TestExportReport(t *testing.T) {
	t.Parallel()
	const stays = "The folder keeps .payledger-export.sqlite, which a later export into it needs; with --once it would not.\n"
	wrote := export.Summary{First: 1, Last: 9, Events: 8, Files: []string{"events.csv", "payments.csv"}}
	for _, c := range []struct {
		command Export
		summary export.Summary
		text    string
	}{
		{Export{Format: "csv"}, wrote, "8 events up to position 9, in out: events.csv, payments.csv\n" + stays + "Append later events with --after 9.\n"},
		{Export{Format: "csv", Once: true}, wrote, "8 events up to position 9, in out: events.csv, payments.csv\n"},
		{Export{Format: "sqlite"}, export.Summary{Last: 9, Events: 8, Files: []string{"out"}}, "8 events up to position 9, in out: out\nAppend later events with --after 9.\n"},
		{Export{Format: "csv", To: "2026-01-01"}, wrote, "8 events up to position 9, in out: events.csv, payments.csv\n"},
		{Export{Format: "csv"}, export.Summary{}, "Nothing new: out has every event.\n"},
		{Export{Format: "csv"}, export.Summary{Deliveries: 1}, "No event, but 1 webhook delivery, in out\n"},
		{Export{Format: "csv", From: "2026-01-01"}, export.Summary{Deliveries: 2}, "No event, but 2 webhook deliveries, in out\n"},
		{Export{Format: "csv", From: "2026-01-01"}, export.Summary{}, "No event is of this time: the tables in out have no rows.\n"},
	} {
		var b strings.Builder
		c.command.Out = "out"
		if err := c.command.report(&b, c.summary); err != nil || b.String() != c.text {
			t.Errorf("%+v prints %q, expected %q; %v", c.summary, b.String(), c.text, err)
		}
	}
}

// TestBeyond checks that an export knows from a server and from a folder that no event has a
// position: the ledger is another one, or lost it.
func TestBeyond(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") == "7" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"errorId":"EntityNotFound","description":"No event has this position yet."}}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	there := serverFeed{Source{URL: server.URL, APIKey: "plk_sandbox_x"}}
	none := func(export.Event, uint64) error { return nil }
	if err := there.Events(t.Context(), 7, none); !errors.Is(err, export.ErrBeyond) || !strings.Contains(err.Error(), "No event has this position yet") {
		t.Errorf("a server: %v", err)
	}
	if err := there.Events(t.Context(), 8, none); err == nil || errors.Is(err, export.ErrBeyond) {
		t.Errorf("a server that is not ready: %v", err)
	}
	if err := (beyond{fmt.Errorf("x: %w", ordered.ErrBeyond)}); !errors.Is(err, export.ErrBeyond) || !errors.Is(err, ordered.ErrBeyond) {
		t.Errorf("a folder: %v", err)
	}
}

// TestExportTotal: an export from a server has the total for its progress: the newest position of
// the log at each page, which is never below the event's own. An older server gives none.
func TestExportTotal(t *testing.T) {
	t.Parallel()
	for newest, want := range map[string]string{"1": "1/1 2/2 3/5 ", "": "1/0 2/0 3/0 "} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page := `{"data":[{"position":1},{"position":2}],"nextAfter":2}`
			if newest != "" {
				w.Header().Set("Payledger-Newest", newest)
			}
			if r.URL.Query().Get("after") == "2" {
				page = `{"data":[{"position":3}]}`
				if newest != "" {
					w.Header().Set("Payledger-Newest", "5")
				}
			}
			_, _ = io.WriteString(w, page)
		}))
		defer server.Close()
		got := ""
		there := serverFeed{Source{URL: server.URL, APIKey: "plk_sandbox_x"}}
		if err := there.Events(t.Context(), 0, func(e export.Event, newest uint64) error {
			got += fmt.Sprintf("%d/%d ", e.Position, newest)
			return nil
		}); err != nil || got != want {
			t.Errorf("with %q: %q, want %q, %v", newest, got, want, err)
		}
	}
}
