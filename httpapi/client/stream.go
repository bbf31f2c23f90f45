package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrBroken means that a stream ended: the connection broke, or the service stopped. The caller
// connects again.
var ErrBroken = errors.New("the connection to the server broke")

// ServerEvent is one message of a stream of server-sent events.
type ServerEvent struct {
	ID   string
	Type string
	Data []byte // JSON; nil: none
}

// Stream reads server-sent events and calls handle with each. opened is called when the server has
// accepted the stream. Stream returns an error that wraps ErrBroken when the connection ends, the
// error of handle, or an *Error if the server refuses the stream.
func (c *Client) Stream(ctx context.Context, r Request, opened func(), handle func(ServerEvent) error) error {
	r.Method = http.MethodGet
	answer, err := c.Do(ctx, r)
	var apiErr *Error
	switch {
	case errors.As(err, &apiErr) && (apiErr.Status == http.StatusServiceUnavailable || apiErr.Status == http.StatusTooManyRequests):
		return fmt.Errorf("%w: %w", ErrBroken, err) // it is starting, or has too many streams: it can be tried again
	case err != nil && apiErr == nil:
		return fmt.Errorf("%w: %w", ErrBroken, err)
	case err != nil:
		return err
	}
	defer answer.Body.Close()
	opened()
	return readEvents(answer.Body, handle)
}

func readEvents(from io.Reader, handle func(ServerEvent) error) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	var e ServerEvent
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // a message without its end is not whole
			return fmt.Errorf("%w: %w", ErrBroken, err)
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if e.Data != nil {
				if err := handle(e); err != nil {
					return err
				}
			}
			e = ServerEvent{ID: e.ID}
		case string(field) == "id":
			e.ID = string(value)
		case string(field) == "event":
			e.Type = string(value)
		case string(field) == "data":
			e.Data = value
		}
	}
}
