package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"payledger/domain"
)

// stream is an answer that is written line by line, each a JSON object, while it is made. What goes wrong after the
// first line is the last one: {"error": …} as in an error body (D3).
type stream func(line func(any) error) error

// flushEvery is how long a line of a stream may wait for the next one.
const flushEvery = 250 * time.Millisecond

// stream writes the lines as they come; the error is that of a caller who went away.
func (c *call) stream(lines stream) error {
	control := http.NewResponseController(c.w)
	if err := control.SetReadDeadline(time.Time{}); err != nil { // that of the request would end its context
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
	c.api.Logger.Error().Err(err).Str("requestId", c.id).Msg("a stream ended before its end")
	return encoder.Encode(c.lastLine(err))
}

// lastLine tells a caller who has a 200 already that the answer is not whole.
func (c *call) lastLine(err error) any {
	reason, text := domain.ReasonInternal, "Something went wrong; the answer is not whole."
	var refused *domain.Error
	if errors.As(err, &refused) {
		reason, text = refused.Reason, refused.Message
	}
	return map[string]any{"error": map[string]any{"errorId": reason, "description": text, "diagnosticsId": c.id}}
}
