package simulator_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// receiver is the service's notification address. Each request waits for its status.
type receiver struct {
	*httptest.Server
	received chan receipt
	status   chan int
}

type receipt struct {
	note      protocol.Notification
	signature string
	body      []byte
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{received: make(chan receipt), status: make(chan int)}
	over := make(chan struct{})
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the simulator was closed meanwhile
		}
		h := receipt{signature: request.Header.Get(protocol.HeaderSignature), body: body}
		if err := json.Unmarshal(body, &h.note); err != nil {
			t.Error(err)
		}
		select {
		case r.received <- h:
		case <-over:
			return
		}
		select {
		case status := <-r.status:
			w.WriteHeader(status)
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); r.Server.Close() })
	return r
}

// asyncCapture sends a capture that ends 2 s later; r receives its notification.
func (b *bench) asyncCapture(r *receiver) processor.Operation {
	b.t.Helper()
	op := b.on(b.send(b.authorize("4000000000005175", 1000)), processor.Capture, 1000)
	op.NotifyURL = r.URL + "/processors/ADYEN/notifications"
	expect(b.t, b.send(op), processor.Pending, "")
	return op
}

// TestNotificationRetries: anything but 2xx is sent again with the same id, a bounded number of
// times.
func TestNotificationRetries(t *testing.T) {
	b, r := newBench(t), newReceiver(t)
	b.asyncCapture(r)
	b.clock.Advance(2 * time.Second)
	first := <-r.received
	r.status <- http.StatusFound // a redirect is no success, and is not followed
	wait := time.Second
	for range 6 {
		b.clock.AwaitTimers(1)
		b.clock.Advance(wait)
		wait *= 2
		again := <-r.received
		if string(again.body) != string(first.body) || again.signature != first.signature {
			t.Errorf("%s, first %s", again.body, first.body)
		}
		r.status <- http.StatusInternalServerError
	}
	for !strings.Contains(b.log.String(), "notification given up") {
	}
	b.reopen() // nothing is sent after a restart
	b.asyncCapture(r)
	b.clock.Advance(2 * time.Second)
	if next := <-r.received; next.note.ID == first.note.ID {
		t.Error("sent again after it was given up")
	}
	r.status <- http.StatusOK
}

// TestNotificationAfterRestart: pending work and unheard results are taken up from the books (D14).
func TestNotificationAfterRestart(t *testing.T) {
	b, r := newBench(t), newReceiver(t)
	op := b.asyncCapture(r)
	b.reopen()
	b.clock.AwaitTimers(1)
	b.clock.Advance(2 * time.Second)
	first := <-r.received
	b.reopen() // the receiver has not answered: the result is durable, the delivery of the notification is not confirmed
	r.status <- http.StatusOK
	again := <-r.received
	if string(again.body) != string(first.body) || again.note.IdempotencyKey != op.Key {
		t.Errorf("%s, first %s", again.body, first.body)
	}
	r.status <- http.StatusOK
}

func TestFaultDuplicateNotification(t *testing.T) {
	b, r := newBench(t), newReceiver(t)
	b.fault(protocol.Fault{Mode: protocol.DuplicateNotification, Count: new(1)})
	b.asyncCapture(r)
	b.clock.Advance(2 * time.Second)
	first := <-r.received
	r.status <- http.StatusOK
	if again := <-r.received; string(again.body) != string(first.body) {
		t.Errorf("%s, first %s", again.body, first.body)
	}
	r.status <- http.StatusOK
}

func TestFaultReorder(t *testing.T) {
	b, r := newBench(t), newReceiver(t)
	b.fault(protocol.Fault{Mode: protocol.Reorder, Count: new(1)})
	slow := b.asyncCapture(r)
	b.clock.Advance(2 * time.Second)
	quick := b.asyncCapture(r)
	b.clock.Advance(2 * time.Second)
	for _, want := range []processor.Operation{quick, slow} {
		if got := <-r.received; got.note.IdempotencyKey != want.Key {
			t.Errorf("%s came, want %s", got.note.IdempotencyKey, want.Key)
		}
		r.status <- http.StatusOK
	}

	b.fault(protocol.Fault{Mode: protocol.Reorder, DelayMs: 700, Count: new(1)})
	alone := b.asyncCapture(r)
	b.clock.Advance(2 * time.Second)
	b.clock.Advance(700 * time.Millisecond) // no other comes: it is not held for ever
	if got := <-r.received; got.note.IdempotencyKey != alone.Key {
		t.Errorf("%+v", got.note)
	}
	r.status <- http.StatusOK
}
