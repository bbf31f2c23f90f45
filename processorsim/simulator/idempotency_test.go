package simulator_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// TestRepeatAfterRestart: a repeat has the same answer after a restart, and a key belongs to one
// processor.
func TestRepeatAfterRestart(t *testing.T) {
	b := newBench(t)
	op := b.authorize("4242424242424242", 1000)
	first := b.send(op)
	for range 2 {
		if again := b.send(op); !reflect.DeepEqual(again, first) {
			t.Errorf("%+v, first %+v", again, first)
		}
		b.reopen()
	}
	elsewhere := op
	elsewhere.Processor = processor.Stripe // a key belongs to one processor
	expect(t, b.send(elsewhere), processor.Succeeded, "")
	if n := len(b.books()); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// TestFenceAfterRestart: a fence is durable, and the same when repeated.
func TestFenceAfterRestart(t *testing.T) {
	b := newBench(t)
	op := b.authorize("4242424242424242", 1000)
	for range 2 {
		if l, err := b.client.Fence(t.Context(), op.Processor, op.Key); err != nil || l.State != processor.Fenced {
			t.Errorf("%+v %v", l, err)
		}
		b.reopen()
	}
	expect(t, b.send(op), processor.Failed, protocol.CodeFenced)
	if l := b.lookup(op); l.State != processor.Fenced || len(b.books()) != 0 {
		t.Errorf("%+v %+v", l, b.books())
	}
}

// TestOddKeys checks that a key with any visible characters is unchanged in a path.
func TestOddKeys(t *testing.T) {
	b := newBench(t)
	for _, key := range []domain.OperationKey{"01abc.12", "a/b", "..", ".", "a%2Fb", "a?b#c", "a//b", "~!$&'()*+,;=:@[]"} {
		op := b.authorize("4242424242424242", 1000)
		op.Key = key
		expect(t, b.send(op), processor.Succeeded, "")
		if l := b.lookup(op); l.State != processor.Known {
			t.Errorf("%q: %+v", key, l)
		}
		if l, err := b.client.Fence(t.Context(), op.Processor, key); err != nil || l.State != processor.Known {
			t.Errorf("%q: %+v %v", key, l, err)
		}
	}
}

// TestRefusedControl checks that a wrong request of the control API, and a fence with a body, is
// refused with a status, and adds no line to the file. The promises of package conformance have the
// other requests.
func TestRefusedControl(t *testing.T) {
	b := newBench(t)
	for path, want := range map[string]int{"/v1/processors/ADYEN/operations/k/fence": 400, "/sim/faults": 422} {
		if status, text := b.post(path, `{"mode":"sulk"}`); status != want || !strings.Contains(text, `"code"`) {
			t.Errorf("POST %s: %d %s, want %d", path, status, text, want)
		}
	}
	for _, path := range []string{"/sim/books?from=yesterday", "/sim/books?processor=NOBODY"} {
		response, err := http.Get(b.server.URL + path)
		must(t, err)
		response.Body.Close()
		if response.StatusCode != 422 {
			t.Errorf("GET %s: %d", path, response.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if n := len(b.books()); n != 0 {
		t.Errorf("%d lines", n)
	}
}
