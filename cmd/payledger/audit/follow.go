package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// followRetry is the time after which tail connects again.
const followRetry = time.Second

// errBroken means that a stream ended, and continues after a new connection.
var errBroken = errors.New("the stream broke")

// follow reads the events of a running server, and connects again after a break: each event is printed once.
func (c *Tail) follow(ctx context.Context, notes io.Writer, emit func([]byte) error) error {
	after, connected := c.After, false
	for {
		err := c.stream(ctx, &after, func() { connected = true }, emit)
		if ctx.Err() != nil || !connected || !errors.Is(err, errBroken) {
			return err
		}
		fmt.Fprintf(notes, "payledger: %v; going on behind position %d\n", err, after)
		again := time.NewTimer(followRetry)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		}
	}
}

// stream reads one connection's events, and moves after with each of them.
func (c *Tail) stream(ctx context.Context, after *uint64, connected func(), emit func([]byte) error) error {
	query := url.Values{}
	if len(c.Type) > 0 {
		query.Set("types", strings.Join(c.Type, ","))
	}
	if c.Payment != "" {
		query.Set("paymentId", c.Payment)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.URL, "/")+"/events/stream?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Api-Key", c.APIKey)
	request.Header.Set("X-Api-Version", "2.4")
	request.Header.Set("Last-Event-ID", strconv.FormatUint(*after, 10))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w; is the server running? --data reads a stopped one", errBroken, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return refusedStream(answer)
	}
	connected()
	return readServerEvents(answer.Body, func(id uint64, data []byte) error {
		if len(data) > 0 {
			if err := emit(data); err != nil {
				return err
			}
		}
		*after = id
		return nil
	})
}

// refusedStream returns the server's error. A server that is starting, or has too many streams, is tried again.
func refusedStream(answer *http.Response) error {
	var body struct {
		Error serverError `json:"error"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return fmt.Errorf("tail: the server answered %d and no JSON: %w", answer.StatusCode, err)
	}
	if answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusTooManyRequests {
		return fmt.Errorf("%w: %w", errBroken, body.Error)
	}
	return body.Error
}

// readServerEvents calls handle with the id and the data of each message of a stream of server-sent events; a message that only
// moves the position has no data.
func readServerEvents(from io.Reader, handle func(id uint64, data []byte) error) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	var id uint64
	var data []byte
	changed := false
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // a message without its end is not whole
			return fmt.Errorf("%w: %w", errBroken, err)
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && changed:
			if err := handle(id, data); err != nil {
				return err
			}
			data, changed = nil, false
		case string(field) == "id":
			if id, err = strconv.ParseUint(string(value), 10, 64); err != nil {
				return fmt.Errorf("tail: the server sent the position %q", value)
			}
			changed = true
		case string(field) == "data":
			data = value
		}
	}
}
