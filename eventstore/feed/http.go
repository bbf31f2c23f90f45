package feed

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"payledger/domain/exactjson"
)

type overHTTP struct{ url, apiKey string }

// caller follows no redirect: that would send the API key to its target.
var caller = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

const (
	pageSize     = "1000"
	maxErrorBody = 64 << 10 // bytes
)

func (s overHTTP) page(ctx context.Context, after uint64, emit func([]byte) error, passed func(uint64)) error {
	for {
		answer, err := s.get(ctx, "/events?limit="+pageSize+"&after="+strconv.FormatUint(after, 10), "")
		if err != nil {
			return err
		}
		var page struct {
			Data      []json.RawMessage `json:"data"`
			NextAfter uint64            `json:"nextAfter"`
		}
		var text []byte
		if text, err = io.ReadAll(answer.Body); err == nil {
			err = exactjson.Unmarshal(text, &page)
		}
		answer.Body.Close()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrBroken, err)
		}
		for _, text := range page.Data {
			if err := emit(text); err != nil {
				return err
			}
		}
		if page.NextAfter == 0 {
			return nil
		}
		after = page.NextAfter
		passed(after)
	}
}

func (s overHTTP) follow(ctx context.Context, after uint64, emit func([]byte) error, passed func(uint64)) error {
	answer, err := s.get(ctx, "/events/stream", strconv.FormatUint(after, 10))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	passed(after)
	return ServerEvents(answer.Body, func(id uint64, data []byte) error {
		if len(data) > 0 {
			if err := emit(data); err != nil {
				return err
			}
		}
		passed(id)
		return nil
	})
}

// get calls the API. A server that starts, or has too many streams, counts as a broken connection.
func (s overHTTP) get(ctx context.Context, path, lastEventID string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.url, "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	request.Header.Set("X-Api-Key", s.apiKey)
	request.Header.Set("X-Api-Version", "2.4")
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	answer, err := caller.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	var body struct {
		Error struct {
			ErrorID     string `json:"errorId"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if text, err := io.ReadAll(io.LimitReader(answer.Body, maxErrorBody)); err == nil {
		_ = exactjson.Unmarshal(text, &body) // of a proxy, it is no JSON
	}
	err = fmt.Errorf("feed: the server answered %d %s: %s", answer.StatusCode, cmp.Or(body.Error.ErrorID, http.StatusText(answer.StatusCode)), body.Error.Description)
	if answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusTooManyRequests {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return nil, err
}

// ServerEvents calls handle with id and data of each message of a stream. A message that only moves
// the position has no data.
func ServerEvents(from io.Reader, handle func(id uint64, data []byte) error) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	var id uint64
	var data []byte
	begun := false
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // a message without its end is not whole
			return fmt.Errorf("%w: %w", ErrBroken, err)
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && begun:
			if err := handle(id, data); err != nil {
				return err
			}
			data, begun = nil, false
		case string(field) == "id":
			if id, err = strconv.ParseUint(string(value), 10, 64); err != nil {
				return fmt.Errorf("feed: the server sent the position %q", value)
			}
			begun = true
		case string(field) == "data":
			data = value
		}
	}
}
