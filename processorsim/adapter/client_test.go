package adapter_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answering serves one status and body to every request, and counts them.
func answering(t *testing.T, status int, body string) (*adapter.Adapter, *atomic.Int64) {
	t.Helper()
	var count atomic.Int64
	return serving(t, func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}), &count
}

func serving(t *testing.T, handle http.HandlerFunc) *adapter.Adapter {
	t.Helper()
	server := httptest.NewServer(handle)
	c, err := adapter.New(server.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); server.Close() })
	return c
}

const at = `"at":"2026-03-01T12:00:00Z"`

var op = processor.Operation{
	Kind: processor.Authorize, Key: "01a.2", Processor: processor.Adyen, Reference: "01a", Amount: 1, Currency: "EUR",
	Card: &processor.Card{Number: "4242424242424242", CVV: "739"},
}

// TestNoCardWithoutNumber: an authorization without a card's number is never sent. Its outcome is
// unknown, so that a look-up shows that the processor has not seen it.
func TestNoCardWithoutNumber(t *testing.T) {
	c, count := answering(t, 200, `{"state":"SUCCEEDED","processorTransactionId":"t",`+at+`}`)
	for _, card := range []*processor.Card{nil, {}, {ExpirationMonth: "03", ExpirationYear: "2099"}} {
		without := op
		without.Card = card
		if answer, err := c.Send(context.Background(), without); !errors.Is(err, processor.ErrUnknown) || count.Load() != 0 {
			t.Errorf("%+v: %d requests, %+v, %v", card, count.Load(), answer, err)
		}
	}
	if _, err := c.Send(context.Background(), op); err != nil || count.Load() != 1 {
		t.Errorf("with a number: %d requests, %v", count.Load(), err)
	}
}

// TestOnlyWholeAnswersAreFacts is the table of D8: the answers that are facts. All others are
// unknown.
func TestOnlyWholeAnswersAreFacts(t *testing.T) {
	const succeeded = `{"state":"SUCCEEDED","processorTransactionId":"t",` + at + `}`
	rows := []struct {
		name, body string
		status     int
		fact       bool
	}{
		{"succeeded", succeeded, 200, true},
		{"a field of a later version", `{"state":"SUCCEEDED","processorTransactionId":"t","later":1,` + at + `}`, 200, true},
		{"pending", `{"state":"PENDING","processorTransactionId":"t",` + at + `}`, 200, true},
		{"action", `{"state":"ACTION_REQUIRED","processorTransactionId":"t","actionToken":"a",` + at + `}`, 200, true},
		{"declined", `{"state":"DECLINED","code":"05",` + at + `}`, 200, true},
		{"failed", `{"state":"FAILED","code":"technical_error","retryable":true,` + at + `}`, 200, true},
		{"created", succeeded, 201, false},
		{"redirect", succeeded, 302, false},
		{"bad request", succeeded, 400, false},
		{"request time-out", succeeded, 408, false},
		{"in progress", `{"error":{"code":"in_progress","message":"m"}}`, 409, false},
		{"unprocessable", `{"error":{"code":"key_reused","message":"m"}}`, 422, false},
		{"too many", succeeded, 429, false},
		{"server error", succeeded, 500, false},
		{"unavailable", `{"state":"FAILED","code":"x",` + at + `}`, 503, false},
		{"empty", ``, 200, false},
		{"no JSON", `<html>`, 200, false},
		{"half", succeeded[:len(succeeded)-1], 200, false},
		{"twice", succeeded + succeeded, 200, false},
		{"null", `null`, 200, false},
		{"no state", `{` + at + `}`, 200, false},
		{"unknown state", `{"state":"MAYBE","processorTransactionId":"t",` + at + `}`, 200, false},
		{"no transaction", `{"state":"SUCCEEDED",` + at + `}`, 200, false},
		{"a transaction of 255 characters", `{"state":"SUCCEEDED","processorTransactionId":"` + strings.Repeat("t", 255) + `",` + at + `}`, 200, true},
		{"a longer transaction", `{"state":"SUCCEEDED","processorTransactionId":"` + strings.Repeat("t", 256) + `",` + at + `}`, 200, false},
		{"a control character in a transaction", `{"state":"PENDING","processorTransactionId":"t\u0007",` + at + `}`, 200, false},
		{"a blank in a transaction", `{"state":"SUCCEEDED","processorTransactionId":"t 1",` + at + `}`, 200, false},
		{"a longer transaction, declined", `{"state":"DECLINED","code":"05","processorTransactionId":"` + strings.Repeat("t", 256) + `",` + at + `}`, 200, false},
		{"no time", `{"state":"SUCCEEDED","processorTransactionId":"t"}`, 200, false},
		{"action without token", `{"state":"ACTION_REQUIRED","processorTransactionId":"t",` + at + `}`, 200, false},
		{"success with action", `{"state":"SUCCEEDED","processorTransactionId":"t","actionToken":"a",` + at + `}`, 200, false},
		{"success, retryable", `{"state":"SUCCEEDED","processorTransactionId":"t","retryable":true,` + at + `}`, 200, false},
		{"decline without code", `{"state":"DECLINED",` + at + `}`, 200, false},
		{"failure without code", `{"state":"FAILED","retryable":true,` + at + `}`, 200, false},
		{"a state twice", `{"state":"SUCCEEDED","state":"FAILED","code":"x","processorTransactionId":"t",` + at + `}`, 200, false},
		{"a state in capitals alone", `{"STATE":"SUCCEEDED","processorTransactionId":"t",` + at + `}`, 200, false},
		{"another field twice", `{"state":"SUCCEEDED","processorTransactionId":"t","more":{"x":1,"x":2},` + at + `}`, 200, false},
		{"too large", succeeded + strings.Repeat(" ", protocol.MaxBody), 200, false},
	}
	for _, row := range rows {
		c, count := answering(t, row.status, row.body)
		answer, err := c.Send(t.Context(), op)
		switch {
		case row.fact && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case !row.fact && !errors.Is(err, processor.ErrUnknown):
			t.Errorf("%s: taken for a fact: %+v %v", row.name, answer, err)
		case !row.fact && answer != (processor.Answer{}):
			t.Errorf("%s: an answer beside the error: %+v", row.name, answer)
		case count.Load() != 1:
			t.Errorf("%s: sent %d times", row.name, count.Load())
		case err != nil && strings.Contains(err.Error(), op.Card.Number):
			t.Errorf("%s: the error holds the card number", row.name)
		}
	}
}

func TestLookups(t *testing.T) {
	rows := []struct {
		body string
		want processor.LookupState // empty: unknown
	}{
		{`{"state":"UNSEEN"}`, processor.Unseen},
		{`{"state":"RUNNING"}`, processor.Running},
		{`{"state":"FENCED"}`, processor.Fenced},
		{`{"state":"KNOWN","answer":{"state":"DECLINED","code":"05",` + at + `}}`, processor.Known},
		{`{"state":"KNOWN"}`, ""},
		{`{"state":"KNOWN","answer":{"state":"DECLINED",` + at + `}}`, ""},
		{`{"state":"UNSEEN","answer":{"state":"DECLINED","code":"05",` + at + `}}`, ""},
		{`{"state":"KNOWN","answer":{"state":"SUCCEEDED","processorTransactionId":"` + strings.Repeat("t", 256) + `",` + at + `}}`, ""},
		{`{"state":"KNOWN","answer":{"state":"SUCCEEDED","processorTransactionId":"t\n",` + at + `}}`, ""},
		{`{"state":"GONE"}`, ""},
		{`{}`, ""},
		{`{"state":"UNSEEN"} x`, ""},
		{`{"state":"UNSEEN","State":"FENCED"}`, processor.Unseen},
		{`{"State":"UNSEEN"}`, ""},
		{`{"state":"RUNNING","state":"UNSEEN"}`, ""},
		{`{"state":"KNOWN","answer":{"state":"DECLINED","code":"05",` + at + `},"Answer":{"state":"SUCCEEDED"}}`, processor.Known},
	}
	for _, row := range rows {
		c, _ := answering(t, 200, row.body)
		lookup, err := c.Lookup(t.Context(), op.Processor, op.Key)
		fence, fenceErr := c.Fence(t.Context(), op.Processor, op.Key)
		if lookup.State != row.want || fence.State != row.want || (row.want == "") != errors.Is(err, processor.ErrUnknown) ||
			(row.want == "") != errors.Is(fenceErr, processor.ErrUnknown) {
			t.Errorf("%s: %+v %v, fence %+v %v", row.body, lookup, err, fence, fenceErr)
		}
	}
}

// TestNeverSentTwice: net/http repeats keyed requests on a dead kept connection; this client must
// not.
func TestNeverSentTwice(t *testing.T) {
	var count atomic.Int64
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if count.Add(1) == 1 {
			_, _ = io.WriteString(w, `{"state":"DECLINED","code":"05",`+at+`}`)
			return
		}
		panic(http.ErrAbortHandler)
	})
	if _, err := c.Send(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(t.Context(), op); !errors.Is(err, processor.ErrUnknown) {
		t.Error(err)
	}
	if n := count.Load(); n != 2 {
		t.Errorf("%d requests for 2 sends", n)
	}
}

func TestTimeout(t *testing.T) {
	arrived := make(chan struct{})
	c := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := c.Send(ctx, op); !errors.Is(err, processor.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestHalfBooks(t *testing.T) {
	for _, body := range []string{`{"id":"op_1"}` + "\n" + `{"id":`, `x`} {
		c, _ := answering(t, 200, body)
		if lines, err := c.Books(t.Context(), adapter.Filter{}); !errors.Is(err, processor.ErrUnknown) || lines != nil {
			t.Errorf("%q: %+v %v", body, lines, err)
		}
	}
	c, _ := answering(t, 503, `{"error":{"code":"unavailable","message":"shutting down"}}`)
	if _, err := c.Books(t.Context(), adapter.Filter{}); !errors.Is(err, processor.ErrUnknown) || !strings.Contains(err.Error(), "shutting down") {
		t.Error(err)
	}
}

func TestBadAddress(t *testing.T) {
	for _, address := range []string{"", "processor:1", "ftp://x", "http://", "http://x?y=z", ":"} {
		if _, err := adapter.New(address, nil); err == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}
