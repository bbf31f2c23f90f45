package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

// listing is an answer {"data": […], "nextAfter"?} whose elements are written one by one, as they are read. next is the
// value of nextAfter; 0 leaves it out. An error before the first element is answered as any other error. An error after
// it cuts the connection, so that no client takes a part of the answer for the whole.
type listing func(element func(any) error) (next uint64, err error)

// list writes a listing.
func (c *call) list(elements listing) outcome {
	w := &listWriter{call: c, control: http.NewResponseController(c.w)}
	next, err := w.fill(elements)
	if err == nil {
		err = w.end(next)
	}
	switch {
	case err == nil:
		return outcome{status: http.StatusOK}
	case w.gone != nil || w.begun && c.ctx.Err() != nil: // the caller went away
		return outcome{status: http.StatusOK, cut: err, abort: true}
	case w.begun:
		c.api.Logger.Error().Str("error", masked(err.Error())).Str("requestId", c.id).Msg("a list ended before its end; the connection is cut")
		return outcome{status: http.StatusOK, abort: true}
	}
	return c.failed(err)
}

// listWriter writes a listing as its elements come.
type listWriter struct {
	*call
	control *http.ResponseController
	begun   bool
	flushed time.Time
	gone    error // why the caller cannot be written to
}

// fill writes the elements; a panic is an error.
func (w *listWriter) fill(elements listing) (next uint64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return elements(w.element)
}

// element writes one element.
func (w *listWriter) element(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("httpapi: an answer does not encode: %w", err)
	}
	before := []byte(",")
	if !w.begun {
		before = w.begin()
	}
	if err := w.text(before, text); err != nil {
		return err
	}
	if now := w.api.Now(); now.Sub(w.flushed) >= flushEvery {
		w.flushed = now
		w.gone = w.control.Flush()
	}
	return w.gone
}

// begin writes the headers, and returns the text before the elements.
func (w *listWriter) begin() []byte {
	w.begun = true
	// The read deadline is for the request; when it passes, the request's context ends. A server without deadlines
	// returns ErrNotSupported.
	if err := w.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		w.api.Logger.Warn().Err(err).Str("requestId", w.id).Msg("a long list may be cut")
	}
	w.head(http.StatusOK, "application/json")
	return []byte(`{"data":[`)
}

// end writes the text after the elements.
func (w *listWriter) end(next uint64) error {
	var before []byte
	if !w.begun {
		before = w.begin()
	}
	if next == 0 {
		return w.text(before, []byte(`]}`))
	}
	return w.text(before, []byte(`],"nextAfter":`+strconv.FormatUint(next, 10)+`}`))
}

func (w *listWriter) text(parts ...[]byte) error {
	for _, part := range parts {
		if _, w.gone = w.w.Write(part); w.gone != nil {
			return w.gone
		}
	}
	return nil
}
