package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/httpapi/request"
)

const (
	// heartbeat is the default time between two messages of a stream. Proxies often close a
	// connection after 30 s of silence.
	heartbeat                 = 15 * time.Second
	maxFeeds, feedsPerAccount = 256, 32
	// feedRetry is the time after which a client connects again after a break (in the stream's own
	// words: milliseconds).
	feedRetry = "retry: 1000\n\n"
)

// feed answers a stream of server-sent events until the client goes away, its key is no longer
// valid, or the service stops.
func (c *call) feed(events request.Feed) outcome {
	if !c.api.feeds.Take(c.Merchant.ID, 1) {
		return c.failed(&domain.Error{
			Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable, Err: errOverloaded,
			Message: "Too many streams of events are open.", Recovery: "Close one, or read GET /events instead.",
		})
	}
	defer c.api.feeds.Give(c.Merchant.ID, 1)
	if err := c.reserve(c.api.Intake.Answers, streamSize); err != nil {
		return c.failed(err)
	}
	w := &feedWriter{call: c, control: http.NewResponseController(c.w)}
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	messages, ended := make(chan request.ServerEvent), make(chan error, 1)
	go func() {
		ended <- produce(ctx, events, messages)
	}()
	err := w.writeHeader()
	reading := true
	if err == nil {
		reading, err = w.run(messages, ended)
	}
	cancel()
	if reading {
		<-ended //nolint:errcheck // its error is that of the cancelled context
	}
	_, refused := errors.AsType[*domain.Error](err) // a key that was revoked, for example
	if err != nil && w.gone == nil && c.Ctx.Err() == nil && !refused {
		c.api.Logger.Error().Str("error", masked(err.Error())).Str("requestId", c.ID).Msg("a stream of events broke")
	}
	return outcome{status: http.StatusOK, cut: err, open: true}
}

// produce hands the events to the goroutine that writes them. A panic is an error.
func produce(ctx context.Context, events request.Feed, messages chan<- request.ServerEvent) (err error) {
	defer recovered(&err)
	return events(ctx, func(e request.ServerEvent) error {
		select {
		case messages <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

type feedWriter struct {
	*call
	control *http.ResponseController
	last    uint64 // id of the last message
	gone    error  // of a write
}

// run writes messages until the stream ends; reading reports whether its source still runs.
func (w *feedWriter) run(messages <-chan request.ServerEvent, ended <-chan error) (reading bool, err error) {
	tick := time.NewTicker(cmp.Or(w.api.Heartbeat, heartbeat))
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return false, err
		case e := <-messages:
			err = w.message(e)
		case <-tick.C:
			if err = w.stillAllowed(); err == nil {
				err = w.text([]byte(": " + strconv.FormatUint(w.last, 10) + "\n\n")) // a comment: both ends notice a connection that is gone
			}
		case <-w.api.Closing:
			return true, nil
		case <-w.Ctx.Done():
			return true, w.Ctx.Err()
		}
		if err != nil {
			return true, err
		}
	}
}

// stillAllowed refuses a key that was revoked or has expired since the stream began. A key that
// cannot be checked now stays.
func (w *feedWriter) stillAllowed() error {
	err := w.authenticate()
	if err == nil {
		err = w.checkScope()
	}
	if refused, is := errors.AsType[*domain.Error](err); is && (refused.Kind == domain.KindUnauthorized || refused.Kind == domain.KindForbidden) {
		return err
	}
	return nil
}

func (w *feedWriter) writeHeader() error {
	w.endless(w.control, "a stream of events may be cut")
	w.w.Header().Set("X-Accel-Buffering", "no") // proxies must not hold messages back
	w.head(http.StatusOK, "text/event-stream")
	return w.text([]byte(feedRetry))
}

func (w *feedWriter) message(e request.ServerEvent) error {
	w.last = e.ID
	var b bytes.Buffer
	b.WriteString("id: " + strconv.FormatUint(e.ID, 10) + "\n")
	if e.Data != nil {
		data, err := elementJSON(e.Data) // JSON has no line breaks
		if err != nil {
			return err
		}
		b.WriteString("event: " + e.Type + "\ndata: ")
		b.Write(data)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	if e.Begin == nil {
		return w.text(b.Bytes())
	}
	end, err := e.Begin()
	if err != nil {
		return nil //nolint:nilerr // the source of the message has the error
	}
	defer end()
	return w.text(b.Bytes())
}

func (w *feedWriter) text(b []byte) error {
	if _, w.gone = w.w.Write(b); w.gone == nil {
		w.gone = w.control.Flush()
	}
	return w.gone
}
