package adapter_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
)

const capturedEntry = `{"id":"op-1","processor":"ADYEN","processorMerchantId":"m","reference":"01abc","operation":"capture","idempotencyKey":"k","amount":500,` +
	`"currency":"EUR","state":"SUCCEEDED","createdAt":"2026-03-01T12:00:00Z","updatedAt":"2026-03-01T12:00:00Z","processorTransactionId":"tx_1",` +
	`"answer":{"state":"SUCCEEDED","processorTransactionId":"tx_1","at":"2026-03-01T12:00:00Z"}}`

// TestByReferenceReadsWhatItCan checks that an unreadable operation is an error and does not hide
// the others; an unreadable answer is ErrUnreadable, a missing one is not.
func TestByReferenceReadsWhatItCan(t *testing.T) {
	other := func(old, new string) string { return strings.Replace(capturedEntry, old, new, 1) }
	for name, bad := range map[string]string{
		"another kind": other(`"capture"`, `"settle"`), "another payment": other("01abc", "01abd"), "no object": `7`, "a text as amount": other(`500`, `"500"`),
		"an unknown currency": other("EUR", "EURO"), "another processor": other("ADYEN", "STRIPE"), "a state of its own": other("SUCCEEDED", "DONE"),
		"a transaction that breaks its limit": other(`"answer":{"state":"SUCCEEDED","processorTransactionId":"tx_1"`, `"answer":{"state":"SUCCEEDED","processorTransactionId":"`+strings.Repeat("t", 256)+`"`),
	} {
		c, _ := answering(t, 200, `{"operations":[`+bad+`,`+capturedEntry+`]}`)
		records, err := c.ByReference(t.Context(), processor.Adyen, "01abc")
		if !errors.Is(err, processor.ErrUnreadable) || !errors.Is(err, processor.ErrUnknown) || len(records) != 1 || records[0].ID != "op-1" {
			t.Errorf("%s: %+v %v", name, records, err)
		}
	}
	c, _ := answering(t, 200, `{"operations":[`+capturedEntry+`,`+other("EUR", "")+`]}`)
	if records, err := c.ByReference(t.Context(), processor.Adyen, "01abc"); err != nil || len(records) != 2 || records[0].Amount != 500 {
		t.Errorf("%+v %v", records, err)
	}
	for body, unreadable := range map[string]bool{
		"<html>": true, `{"operations":1}`: true, `{"operations":[` + strings.Repeat(" ", protocol.MaxEntries) + `]}`: true,
	} {
		c, _ := answering(t, 200, body)
		if _, err := c.ByReference(t.Context(), processor.Adyen, "01abc"); errors.Is(err, processor.ErrUnreadable) != unreadable {
			t.Errorf("%.20s: %v", body, err)
		}
	}
	c, _ = answering(t, 503, "")
	if _, err := c.ByReference(t.Context(), processor.Adyen, "01abc"); err == nil || errors.Is(err, processor.ErrUnreadable) {
		t.Errorf("one that does not answer: %v", err)
	}
}

// TestOperationsReadsWhatItCan: an operation in a list by time that cannot be read is named with
// its payment, and does not hide the others. Without its payment the list ends with an error.
func TestOperationsReadsWhatItCan(t *testing.T) {
	other := func(old, new string) string { return strings.Replace(capturedEntry, old, new, 1) }
	list := func(bad string) (records []processor.Record, err error) {
		c, _ := answering(t, 200, bad+"\n"+capturedEntry)
		return records, c.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, func(r processor.Record) error {
			records = append(records, r)
			return nil
		})
	}
	for name, bad := range map[string]string{
		"no transaction": other(`"SUCCEEDED","processorTransactionId":"tx_1","at"`, `"SUCCEEDED","at"`), "a text as amount": other(`500`, `"500"`),
		"another kind": other(`"capture"`, `"settle"`), "a time without a zone": other("12:00:00Z", "12:00:00"),
	} {
		records, err := list(bad)
		want := processor.Record{ID: "op-1", Processor: processor.Adyen, MerchantID: "m", Reference: "01abc", Unreadable: true}
		if err != nil || len(records) != 2 || records[0] != want || records[1].Unreadable || records[1].Amount != 500 {
			t.Errorf("%s: %+v %v", name, records, err)
		}
	}
	for name, bad := range map[string]string{
		"no payment": strings.Replace(other("01abc", ""), "EUR", "EURO", 1), "no object": `7`, "a name twice": other(`{`, `{"id":"op-2",`),
	} {
		if records, err := list(bad); !errors.Is(err, processor.ErrUnreadable) || len(records) != 1 {
			t.Errorf("%s: %+v %v", name, records, err)
		}
	}
	if records, err := list(`{"id":`); !errors.Is(err, processor.ErrUnknown) || len(records) > 0 {
		t.Errorf("half: %+v %v", records, err)
	}
}

// TestEndlessLists: a list by time with an element that does not end, and pages of disputes that
// lead to themselves, are errors: they take neither memory nor time without end.
func TestEndlessLists(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, capturedEntry+"\n"+`{"id":"`)
		for chunk := strings.Repeat("a", 1<<16); err == nil; {
			_, err = io.WriteString(w, chunk)
		}
	})
	read := 0
	err := c.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, func(processor.Record) error { read++; return nil })
	if !errors.Is(err, processor.ErrUnknown) || !strings.Contains(err.Error(), "too large") || read != 1 {
		t.Errorf("%d operations, %v", read, err)
	}
	for _, next := range []string{"c1", ""} {
		c, asked := answering(t, 200, `{"notifications":[],"next":"`+next+`","more":true}`)
		err := c.DisputesReported(t.Context(), processor.Adyen, time.Time{}, time.Time{}, func(processor.Notification) error { return nil })
		if !errors.Is(err, processor.ErrUnreadable) || asked.Load() > 2 {
			t.Errorf("%q: %v after %d pages", next, err, asked.Load())
		}
	}
}

// TestSilentLists: a list by time that stands still is given up, whether its header, its first
// element or a later one does not come, and so is a refusal that does not end. The pause begins
// again with each element. The time for which the caller handles an element does not count.
func TestSilentLists(t *testing.T) {
	const pause = time.Minute
	for _, row := range []struct {
		status, lines int // 0: the header does not come
		read          int
	}{{0, 0, 0}, {200, 0, 0}, {200, 3, 3}, {503, 1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			reader, writer := io.Pipe()
			defer writer.Close()
			var ended []error
			answer := func(r *http.Request) (*http.Response, error) {
				if row.status == 0 {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				context.AfterFunc(r.Context(), func() { writer.CloseWithError(r.Context().Err()) })
				return &http.Response{StatusCode: row.status, Header: http.Header{}, Body: reader, Request: r}, nil
			}
			c, err := adapter.Open(adapter.Connection{URL: "http://server", ListPause: pause, Exchanged: func(err error) { ended = append(ended, err) }})
			if err != nil {
				t.Fatal(err)
			}
			c.Over(transport(answer))
			go func() {
				for range row.lines {
					<-time.After(pause - time.Second)
					_, _ = io.WriteString(writer, capturedEntry+"\n")
				}
			}()
			read := 0
			err = c.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, func(processor.Record) error {
				read++
				<-time.After(2 * pause)
				return nil
			})
			if !errors.Is(err, processor.ErrUnknown) || !strings.Contains(err.Error(), "no answer within 1m0s") || errors.Is(err, context.Canceled) || read != row.read {
				t.Errorf("%+v: %d operations, %v", row, read, err)
			}
			if len(ended) != 1 || ended[0] == nil {
				t.Errorf("%+v: the exchange ends with %v", row, ended)
			}
		})
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
