package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/httpapi/intake"
)

// TestListingFails: a list that cannot be read from its first element on is answered as any other
// request that fails. A log that is damaged, full or silent is 503.
func TestListingFails(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		eventstore.ErrUnhealthy:    http.StatusServiceUnavailable,
		eventstore.ErrFull:         http.StatusServiceUnavailable,
		context.DeadlineExceeded:   http.StatusServiceUnavailable,
		errors.New("not foreseen"): http.StatusInternalServerError,
	} {
		c := testAPI(t).postCall("createPayment", "")
		done := c.list(func(func(any) error) (uint64, error) { return 0, fmt.Errorf("history: %w", err) })
		if sent := c.w.(*httptest.ResponseRecorder).Code; done.status != want || sent != want {
			t.Errorf("%v: %d was noted and %d sent, not %d", err, done.status, sent, want)
		}
		if reason := reasonOf(done.failure); (want == http.StatusServiceUnavailable) != (reason == domain.ReasonServiceUnavailable) {
			t.Errorf("%v: the log line says %s", err, reason)
		}
	}
}

// TestListingPlace: a list has its place in the gate while its elements are made, and none while
// they are written: a client that reads slowly keeps no other request out.
func TestListingPlace(t *testing.T) {
	t.Parallel()
	gate := intake.NewGate(1, 1)
	ended, end := context.WithCancel(t.Context())
	end()
	free := func() bool { // an ended context waits for no place
		other, ok := gate.Enter(ended, intake.Owner{Name: "other"})
		other.Leave()
		return ok
	}
	c := testAPI(t).postCall("createPayment", "")
	c.place, _ = gate.Enter(t.Context(), intake.Owner{Name: "shop"})
	written := 0
	c.w = watchedWriter{c.w, func() {
		if written++; !free() {
			t.Error("a list has a place while it is written")
		}
	}}
	done := c.list(func(element func(any) error) (uint64, error) {
		for range 100 {
			if free() {
				t.Error("a list has no place while an element is made")
			}
			if err := element(make([]byte, listBuffer/10)); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	if done.status != http.StatusOK || done.abort || written < 2 {
		t.Errorf("%+v after %d writes", done, written)
	}
}

// watchedWriter calls seen before each write.
type watchedWriter struct {
	http.ResponseWriter
	seen func()
}

func (w watchedWriter) Write(piece []byte) (int, error) {
	w.seen()
	return w.ResponseWriter.Write(piece)
}

func (w watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
