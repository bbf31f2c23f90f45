package simulator_test

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

func TestRepeatAddsNothing(t *testing.T) {
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

// TestKeyReused: another operation under a known key is a bug of the caller, not a fact (D8).
func TestKeyReused(t *testing.T) {
	b := newBench(t)
	op := b.authorize("4242424242424242", 1000)
	sale := b.send(op)
	changes := []func(*processor.Operation){
		func(op *processor.Operation) { op.Amount++ },
		func(op *processor.Operation) { op.Currency = "USD" },
		func(op *processor.Operation) { op.Reference = "01other" },
		func(op *processor.Operation) { *op = b.on(sale, processor.Capture, 1000) },
	}
	for i, change := range changes {
		changed := op
		change(&changed)
		changed.Key = op.Key
		if _, err := b.client.Send(t.Context(), changed); !errors.Is(err, processor.ErrUnknown) || !strings.Contains(err.Error(), "422 key_reused") {
			t.Errorf("change %d: %v", i, err)
		}
	}
	capture := b.on(sale, processor.Capture, 100)
	first := b.send(capture)
	capture.ParentID = first.ProcessorTransactionID
	if _, err := b.client.Send(t.Context(), capture); !errors.Is(err, processor.ErrUnknown) {
		t.Errorf("another parent: %v", err)
	}
	if n := len(b.books()); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// TestConcurrentRepeats: 64 sends under one key are one operation.
func TestConcurrentRepeats(t *testing.T) {
	b := newBench(t)
	op := b.authorize("4242424242424242", 1000)
	results := make([]result, 64)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() { results[i].answer, results[i].err = b.client.Send(t.Context(), op) })
	}
	group.Wait()
	want := b.send(op)
	for _, r := range results {
		switch {
		case r.err != nil && !strings.Contains(r.err.Error(), "409 in_progress"):
			t.Error(r.err)
		case r.err == nil && !reflect.DeepEqual(r.answer, want):
			t.Errorf("%+v, want %+v", r.answer, want)
		}
	}
	if n := len(b.books()); n != 1 {
		t.Errorf("%d lines", n)
	}
}

// TestConcurrentCaptures checks that simultaneous captures of one authorization never take more
// than its amount.
func TestConcurrentCaptures(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	var group sync.WaitGroup
	for range 64 {
		op := b.on(sale, processor.Capture, 100)
		group.Go(func() {
			if _, err := b.client.Send(t.Context(), op); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var captured domain.Amount
	for _, line := range b.books()[1:] {
		if line.State == processor.Succeeded {
			captured += line.Amount
		}
	}
	if captured != 1000 {
		t.Errorf("captured %d of 1000", captured)
	}
}

func TestFence(t *testing.T) {
	b := newBench(t)
	op := b.authorize("4242424242424242", 1000)
	if l := b.lookup(op); l.State != processor.Unseen {
		t.Errorf("%+v", l)
	}
	for range 2 { // a fence is durable, and the same when repeated
		if l, err := b.client.Fence(t.Context(), op.Processor, op.Key); err != nil || l.State != processor.Fenced {
			t.Errorf("%+v %v", l, err)
		}
		b.reopen()
	}
	expect(t, b.send(op), processor.Failed, protocol.CodeFenced)
	if l := b.lookup(op); l.State != processor.Fenced || len(b.books()) != 0 {
		t.Errorf("%+v %+v", l, b.books())
	}

	seen := b.authorize("4242424242424242", 1000)
	b.send(seen)
	l, err := b.client.Fence(t.Context(), seen.Processor, seen.Key)
	if err != nil || l.State != processor.Known || l.Answer.State != processor.Succeeded {
		t.Errorf("%+v %v", l, err)
	}
	expect(t, b.send(seen), processor.Succeeded, "")
}

// TestFenceAgainstSend checks that the first of a fence and a send counts, and that both get the
// same result.
func TestFenceAgainstSend(t *testing.T) {
	b := newBench(t)
	for range 50 {
		op := b.authorize("4242424242424242", 1000)
		done := b.sendLater(t.Context(), op)
		l, err := b.client.Fence(t.Context(), op.Processor, op.Key)
		must(t, err)
		r := <-done
		must(t, r.err)
		if fenced := l.State == processor.Fenced; fenced != (r.answer.Code == protocol.CodeFenced) {
			t.Errorf("fence says %s, send says %s %q", l.State, r.answer.State, r.answer.Code)
		}
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

func TestByReference(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	b.send(b.on(sale, processor.Capture, 1000))
	other := b.authorize("4242424242424242", 1)
	other.Reference = "01other"
	b.send(other)
	found, err := b.client.ByReference(t.Context(), processor.Adyen, "01payment")
	must(t, err)
	if len(found) != 2 || found[0].Answer.ProcessorTransactionID != sale.ProcessorTransactionID || found[1].Kind != processor.Capture {
		t.Errorf("%+v", found)
	}
	if found, err = b.client.ByReference(t.Context(), processor.Stripe, "01payment"); err != nil || len(found) != 0 {
		t.Errorf("%+v %v", found, err)
	}
}

// TestRefusedRequests checks that a request that is no operation is refused with a status, and adds
// no line to the file.
func TestRefusedRequests(t *testing.T) {
	b := newBench(t)
	const good = `{"operation":"capture","reference":"01p","parentId":"x","amount":1,"currency":"EUR"}`
	rows := []struct {
		path, key, body string
		want            int
	}{
		{"/v1/processors/ADYEN/operations", "", good, 422},
		{"/v1/processors/ADYEN/operations", "a b", good, 422},
		{"/v1/processors/ADYEN/operations", strings.Repeat("k", 256), good, 422},
		{"/v1/processors/NOBODY/operations", "k", good, 404},
		{"/v1/processors/ADYEN/nothing", "k", good, 404},
		{"/v1/processors/ADYEN/operations/k", "k", good, 405},
		{"/v1/processors/ADYEN/operations/k/fence", "k", good, 400},
		{"/v1/processors/ADYEN/operations", "k", good + good, 400},
		{"/v1/processors/ADYEN/operations", "k", ``, 400},
		{"/v1/processors/ADYEN/operations", "k", `null`, 422},
		{"/v1/processors/ADYEN/operations", "k", `{"operation":"capture","amount":1e99}`, 422},
		{"/v1/processors/ADYEN/operations", "k", `{"extra":1}`, 422},
		{"/v1/processors/ADYEN/operations", "k", strings.Repeat(" ", protocol.MaxBody+1), 413},
		{"/sim/faults", "", `{"mode":"sulk"}`, 422},
	}
	for _, row := range rows {
		status, text := b.post(row.path, row.body, protocol.HeaderIdempotencyKey, row.key)
		if status != row.want || !strings.Contains(text, `"code"`) {
			t.Errorf("POST %s %.60s: %d %s, want %d", row.path, row.body, status, text, row.want)
		}
	}
	for _, path := range []string{"/sim/books?from=yesterday", "/sim/books?processor=NOBODY", "/v1/processors/ADYEN/operations?from=yesterday", "/v1/processors/ADYEN/operations?reference="} {
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

// TestByTime checks the list of all operations of one processor between two times, both included,
// in order of creation. Each entry equals the result of the look-up by reference.
func TestByTime(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	b.send(b.on(sale, processor.Capture, 400))
	elsewhere := b.authorize("4242424242424242", 1)
	elsewhere.Reference, elsewhere.Processor = "01other", processor.Stripe
	b.send(elsewhere)
	all, err := b.client.ByReference(t.Context(), processor.Adyen, "01payment")
	must(t, err)
	list := func(from, to time.Time) (found []processor.Record) {
		must(t, b.client.Operations(t.Context(), processor.Adyen, from, to, func(r processor.Record) error {
			found = append(found, r)
			return nil
		}))
		return found
	}
	if got := list(time.Time{}, time.Time{}); len(got) != 2 || !reflect.DeepEqual(got, all) {
		t.Errorf("%+v\nwant %+v", got, all)
	}
	if got := list(all[1].CreatedAt, time.Time{}); len(got) == 0 || got[len(got)-1].ID != all[1].ID {
		t.Errorf("from the second on: %+v", got)
	}
	if got := list(time.Time{}, all[0].CreatedAt.Add(-time.Nanosecond)); len(got) != 0 {
		t.Errorf("before the first: %+v", got)
	}
	enough := errors.New("enough")
	if err := b.client.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, func(processor.Record) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	must(t, b.sim.Close())
	if err := b.client.Operations(t.Context(), processor.Adyen, time.Time{}, time.Time{}, func(processor.Record) error { return nil }); !errors.Is(err, processor.ErrUnknown) {
		t.Errorf("a closed processor: %v", err)
	}
}
