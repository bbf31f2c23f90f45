package httpapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/httpapi/request"
)

func (c *call) list(elements request.Listing) outcome {
	w := c.listWriter()
	next, err := w.fill(elements)
	if err == nil {
		err = w.end(next)
	}
	if err == nil {
		err = w.flush()
	}
	return w.outcome(err, "a list ended before its end; the connection is cut")
}

func (w *listWriter) outcome(err error, problem string) outcome {
	switch {
	case err == nil:
		return outcome{status: http.StatusOK}
	case w.gone != nil || w.begun && w.Ctx.Err() != nil: // the caller went away
		return outcome{status: http.StatusOK, cut: err, abort: true}
	case w.begun:
		w.api.Logger.Error().Str("error", masked(err.Error())).Str("requestId", w.ID).Msg(problem)
		return outcome{status: http.StatusOK, abort: true}
	}
	return w.failed(err)
}

// asideWriter writes without the place in the gate: a client that reads slowly keeps nobody from
// the gate.
type asideWriter struct{ *call }

func (w asideWriter) Write(piece []byte) (int, error) {
	w.place.Leave()
	defer w.place.Return(w.Ctx)
	return w.w.Write(piece)
}

// listBuffer is the size in bytes of the pieces in which a list is written.
const listBuffer = 32 << 10

func (c *call) listWriter() *listWriter {
	return &listWriter{call: c, control: http.NewResponseController(c.w), buffer: bufio.NewWriterSize(asideWriter{c}, listBuffer)}
}

// listWriter writes an answer while it is made. The call has a place in the gate meanwhile, but for
// the writes.
type listWriter struct {
	*call
	control *http.ResponseController
	buffer  *bufio.Writer
	begun   bool
	flushed time.Time
	gone    error // the error of a write: the caller went away
}

func (w *listWriter) fill(elements request.Listing) (next uint64, err error) {
	defer recovered(&err)
	return elements(w.element)
}

func (w *listWriter) element(v any) error {
	text, err := elementJSON(v)
	if err != nil {
		return fmt.Errorf("httpapi: an answer does not encode: %w", err)
	}
	before := []byte(",")
	if !w.begun {
		before = w.writeHeader()
	}
	if err := w.text(before, text); err != nil {
		return err
	}
	if now := w.api.Now(); now.Sub(w.flushed) >= flushEvery {
		w.flushed = now
		if err := w.flush(); err != nil {
			return err
		}
		w.place.Leave()
		w.gone = w.control.Flush()
		w.place.Return(w.Ctx)
	}
	return w.gone
}

func (w *listWriter) flush() error {
	w.gone = w.buffer.Flush()
	return w.gone
}

// elementJSON returns the JSON of an element. Events write it themselves: it takes a fraction of
// the time.
func elementJSON(v any) ([]byte, error) {
	if e, fast := v.(interface {
		Append(b []byte, html bool) ([]byte, error)
	}); fast {
		return e.Append(nil, true)
	}
	return json.Marshal(v)
}

// writeHeader writes the headers, and returns the text before the elements.
func (w *listWriter) writeHeader() []byte {
	w.begun = true
	w.endless(w.control, "a long list may be cut")
	w.head(http.StatusOK, "application/json")
	return []byte(`{"data":[`)
}

// endless removes the read deadline, at which the request's context would end. problem is logged
// after an error.
func (c *call) endless(control *http.ResponseController, problem string) {
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		c.api.Logger.Warn().Err(err).Str("requestId", c.ID).Msg(problem)
	}
}

func (w *listWriter) end(next uint64) error {
	var before []byte
	if !w.begun {
		before = w.writeHeader()
	}
	if next == 0 {
		return w.text(before, []byte(`]}`))
	}
	return w.text(before, []byte(`],"nextAfter":`+strconv.FormatUint(next, 10)+`}`))
}

func (w *listWriter) text(parts ...[]byte) error {
	for _, part := range parts {
		if _, w.gone = w.buffer.Write(part); w.gone != nil {
			return w.gone
		}
	}
	return nil
}

func (c *call) text(pieces request.Text) outcome {
	w := c.listWriter()
	err := pieces(w)
	if err == nil {
		err = w.flush()
	}
	return w.outcome(err, "an answer ended before its end; the connection is cut")
}

func (w *listWriter) Write(piece []byte) (int, error) {
	if !w.begun {
		w.writeHeader()
	}
	if err := w.text(piece); err != nil {
		return 0, err
	}
	return len(piece), nil
}

const flushEvery = 250 * time.Millisecond // the longest time that a line waits in the buffer for the next one

// stream writes the lines one by one; an error means that the caller went away.
func (c *call) stream(lines request.Stream) error {
	control := http.NewResponseController(c.w)
	if err := control.SetReadDeadline(time.Time{}); err != nil { // the request's deadline would end its context
		return err
	}
	c.head(http.StatusOK, "application/jsonl")
	encoder, flushed := json.NewEncoder(c.w), time.Time{}
	var gone error
	err := lines(func(v any) error {
		if gone = encoder.Encode(v); gone != nil {
			return gone
		}
		if now := c.api.Now(); now.Sub(flushed) >= flushEvery {
			flushed = now
			return control.Flush()
		}
		return nil
	})
	if err == nil || gone != nil {
		return gone
	}
	if c.gone(err) {
		return err
	}
	c.api.Logger.Error().Err(err).Str("requestId", c.ID).Msg("a stream ended before its end")
	return encoder.Encode(c.lastLine(err))
}

func (c *call) lastLine(err error) any {
	reason, text := domain.ReasonInternal, "Something went wrong; the answer is not whole."
	if refused, is := errors.AsType[*domain.Error](err); is {
		reason, text = refused.Reason, refused.Message
	}
	return map[string]any{"error": map[string]any{"errorId": reason, "description": text, "diagnosticsId": c.ID}}
}
