package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/feed"
	"payledger/httpapi/client"
)

// follow reads the events of a running server, and connects again after a break: each event is
// printed once.
func (c *Tail) follow(ctx context.Context, notes io.Writer, emit func([]byte) error) error {
	after, connected := c.After, false
	for {
		err := c.stream(ctx, &after, func() { connected = true }, emit)
		if ctx.Err() != nil || !connected || !errors.Is(err, feed.ErrBroken) {
			return err
		}
		fmt.Fprintf(notes, "payledger: %s; going on behind position %d\n", terminal.Harmless(err.Error()), after)
		if err := client.Pause(ctx, followPause); err != nil {
			return err
		}
	}
}

func (c *Tail) stream(ctx context.Context, after *uint64, connected func(), emit func([]byte) error) error {
	query := url.Values{}
	if len(c.Type) > 0 {
		query.Set("types", strings.Join(c.Type, ","))
	}
	if c.Payment != "" {
		query.Set("paymentId", c.Payment)
	}
	answer, err := c.get(ctx, "/events/stream?"+query.Encode(), http.Header{"Last-Event-ID": {strconv.FormatUint(*after, 10)}})
	var refused *client.Error
	switch {
	case err != nil && errors.As(err, &refused) && refused.Status != http.StatusServiceUnavailable && refused.Status != http.StatusTooManyRequests:
		return err
	case err != nil: // no server, or it is starting, or has too many streams: it is tried again
		return fmt.Errorf("%w: %w", feed.ErrBroken, err)
	}
	defer answer.Body.Close()
	connected()
	return feed.ServerEvents(answer.Body, func(id uint64, data []byte) error {
		if len(data) > 0 {
			if err := emit(data); err != nil {
				return err
			}
		}
		*after = id
		return nil
	})
}
