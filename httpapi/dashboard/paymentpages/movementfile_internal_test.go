package paymentpages

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/httpapi/dashboard/frame"
)

// visitOf returns a visit of a page with an API and a clock, and what it answers.
func visitOf(t *testing.T, address string, api frame.API, now func() time.Time) (*frame.Visit, *httptest.ResponseRecorder) {
	t.Helper()
	templates, err := frame.Parse(Files)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	return frame.New(frame.Config{API: api, Now: now}, templates).Visit(w, httptest.NewRequest(http.MethodGet, address, nil), frame.Identity{}), w
}

// movementLog is a log with the events of movements at the positions 1, 2 and so on.
type movementLog struct {
	events  []map[string]any
	size    int           // positions, with those of other accounts' events
	looked  int           // the positions that an answer looks at, at most
	largest int           // the events that fit in an answer
	limits  []int         // of the calls
	read    []string      // ids of disputes
	takes   time.Duration // for each call
	now     time.Time
}

// answer implements frame.API.
func (l *movementLog) answer(_ context.Context, _ frame.Identity, r frame.Request) frame.Answer {
	l.now = l.now.Add(l.takes)
	id, isDispute := strings.CutPrefix(r.Path, "/management/disputes/")
	switch {
	case isDispute:
		l.read = append(l.read, id)
		return encoded(map[string]any{"id": id, "paymentId": "p", "history": []any{map[string]any{"status": "OPEN", "amount": 100, "currency": "EUR"}}})
	case r.Path != apiEvents:
		return encoded(map[string]any{"id": "p"})
	}
	after, _ := strconv.Atoi(r.Query.Get("after"))
	limit, _ := strconv.Atoi(r.Query.Get("limit"))
	if l.limits = append(l.limits, limit); limit > l.largest {
		return frame.Answer{Status: http.StatusInternalServerError, Body: []byte(`{"error":{"errorId":"InternalError"}}`)}
	}
	end := min(after+limit, max(after, len(l.events)))
	page := map[string]any{"data": l.events[min(after, end, len(l.events)):min(end, len(l.events))]}
	if end == after {
		end = min(after+l.looked, l.size)
	}
	if end < l.size {
		page["nextAfter"] = end
	}
	return encoded(page)
}

func encoded(v any) frame.Answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return frame.Answer{Status: http.StatusOK, Body: body}
}

// part reads the part of the file at a cursor, without the names of the columns.
func (l *movementLog) part(t *testing.T, cursor string) (rows [][]string, size int, next string) {
	t.Helper()
	v, w := visitOf(t, "/dashboard/movements.csv?cursor="+cursor, l.answer, func() time.Time { return l.now })
	v.Request.Header.Set(headerPart, "2000")
	if err := exportMovements(v); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(w.Body.String())).ReadAll()
	if err != nil || w.Code != http.StatusOK {
		t.Fatal(w.Code, err)
	}
	if cursor == "" {
		rows = rows[1:]
	}
	if w.Header().Get(headerRows) != fmt.Sprint(len(rows)) {
		t.Errorf("%d rows: %v", len(rows), w.Header())
	}
	return rows, w.Body.Len(), w.Header().Get(headerNext)
}

// TestMovementsOfLargePayments: a page of events is small, and smaller after the API could not
// answer a page because of its size. A part ends at its greatest size. The parts have all rows.
func TestMovementsOfLargePayments(t *testing.T) {
	t.Parallel()
	const rowSize, all = 100 << 10, 60
	l := &movementLog{size: all, largest: 5}
	for n := range all {
		id := fmt.Sprint(n + 1)
		sale := map[string]any{"events": []any{map[string]any{"id": id, "type": "CAPTURE_SUCCEEDED", "amount": 100}}}
		l.events = append(l.events, map[string]any{
			"position": n + 1, "id": id, "payment": map[string]any{"id": "p", "orderId": strings.Repeat("x", rowSize), "currencyCode": "EUR", "transactions": []any{sale}},
		})
	}
	first, size, next := l.part(t, "")
	if size < csvBytes || size > csvBytes+l.largest*(rowSize+200) || next == "" {
		t.Fatalf("the first part has %d bytes, and goes on at %q", size, next)
	}
	if l.limits[0] != eventsAtOnce || slices.Max(l.limits[1:]) != l.largest {
		t.Errorf("asked for %d events", l.limits)
	}
	rest, _, next := l.part(t, next)
	rows := append(first, rest...)
	if len(rows) != all || next != "" {
		t.Fatalf("%d rows, and goes on at %q", len(rows), next)
	}
	for n, row := range rows {
		if row[6] != fmt.Sprint(n+1) {
			t.Fatalf("row %d is of the event %s", n, row[6])
		}
	}
}

// TestMovementsOfOthers: a part ends after its time, also without a row: in a log with the events
// of many accounts, and between the disputes of one answer. The next part goes on there.
func TestMovementsOfOthers(t *testing.T) {
	t.Parallel()
	l := &movementLog{size: 200_000, looked: 50_000, largest: eventsAtOnce, takes: 3 * time.Second}
	rows, _, next := l.part(t, "")
	if len(rows) != 0 || len(l.limits) != 2 || !strings.HasPrefix(next, "100000.") {
		t.Fatalf("%d rows after %d calls, goes on at %q", len(rows), len(l.limits), next)
	}
	if rows, _, next = l.part(t, next); len(rows) != 0 || len(l.limits) != 4 || next != "" {
		t.Errorf("%d rows after %d calls, goes on at %q", len(rows), len(l.limits), next)
	}

	l = &movementLog{size: 3, largest: eventsAtOnce, takes: 3 * time.Second}
	for n := range l.size {
		l.events = append(l.events, map[string]any{"position": n + 1, "aggregateId": fmt.Sprint(n + 1), "revision": 1})
	}
	var parts []int
	for next = "1"; next != ""; {
		if len(parts) == 0 {
			next = ""
		}
		rows, _, next = l.part(t, next)
		parts = append(parts, len(rows))
	}
	if !slices.Equal(parts, []int{1, 1, 1}) || !slices.Equal(l.read, []string{"1", "2", "3"}) {
		t.Errorf("the parts have %d rows, of the disputes %s", parts, l.read)
	}
}

// TestPaymentsInTime: a part of the file of payments ends after its time, too: each row needs a
// call of its own.
func TestPaymentsInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 14, 0, 0, 0, time.UTC)
	api := func(_ context.Context, _ frame.Identity, r frame.Request) frame.Answer {
		now = now.Add(2 * time.Second)
		if r.Path != apiPayments {
			return encoded(map[string]any{})
		}
		return encoded(map[string]any{"data": []any{map[string]any{"id": "p"}}, "nextCursor": "more"})
	}
	v, w := visitOf(t, "/dashboard/payments.csv", api, func() time.Time { return now })
	v.Request.Header.Set(headerPart, "2000")
	if err := exportPayments(v); err != nil || w.Header().Get(headerRows) != "2" || w.Header().Get(headerNext) != "more" {
		t.Errorf("%v %v", err, w.Header())
	}

	began := now
	full := func(_ context.Context, _ frame.Identity, r frame.Request) frame.Answer { // pages are full, and each call is slow
		now = now.Add(time.Second)
		if r.Path != apiPayments {
			return encoded(map[string]any{})
		}
		limit, _ := strconv.Atoi(r.Query.Get("limit"))
		return encoded(map[string]any{"data": slices.Repeat([]any{map[string]any{"id": "p"}}, limit), "nextCursor": "more"})
	}
	v, w = visitOf(t, "/dashboard/payments.csv", full, func() time.Time { return now })
	v.Request.Header.Set(headerPart, "2000")
	if err := exportPayments(v); err != nil || w.Header().Get(headerRows) == "0" || w.Header().Get(headerNext) != "more" || now.Sub(began) >= 30*time.Second {
		t.Errorf("after %s: %v %v", now.Sub(began), err, w.Header())
	}
}
