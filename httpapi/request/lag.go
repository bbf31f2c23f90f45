package request

import (
	"context"
	"fmt"
	"time"

	"payledger/eventstore"
	"payledger/projections"
	"payledger/projections/paymentjson"
)

// HeaderLag is the header with the largest lag of a list (D11).
const HeaderLag = "Payledger-Lag"

// Lagging is a read model that may be behind the log.
type Lagging interface {
	// Lag returns how far a list that is read after the call may be behind.
	Lag(ctx context.Context) (projections.Lag, error)
	// Fresh returns a time: this node knows every event that any node acknowledged before it.
	Fresh(ctx context.Context) (time.Time, error)
}

// ShowLag sets the header of a list that is read from views after the call (D11). It rounds the age
// up to a millisecond.
func (c *Call) ShowLag(views Lagging) error {
	lag, err := views.Lag(c.Ctx)
	if err != nil {
		return err
	}
	c.AnswerHeader.Set(HeaderLag, fmt.Sprintf("events=%d, ms=%d", lag.Events, milliseconds(lag.Age)))
	return nil
}

// HeaderStale is the header of answers that may be old because the caller allowed it (D11).
const HeaderStale = "Payledger-Stale"

// ShowStale sets the header of an answer that may be old, if the caller allowed it. Call it before
// the read; now is the call's time.
func (c *Call) ShowStale(views Lagging, now time.Time) error {
	if !eventstore.Demands(c.Ctx, eventstore.Applied) {
		return nil
	}
	at, err := views.Fresh(c.Ctx)
	if err != nil {
		return err
	}
	asOf, err := paymentjson.Time{Time: at}.MarshalJSON()
	if err != nil {
		return err
	}
	c.AnswerHeader.Set(HeaderStale, fmt.Sprintf("as-of=%s, ms=%d", asOf, milliseconds(now.Sub(at))))
	return nil
}

// ShowRevision adds the newest revision in an old answer to its header.
func (c *Call) ShowRevision(revision uint64) {
	if stale := c.AnswerHeader.Get(HeaderStale); stale != "" {
		c.AnswerHeader.Set(HeaderStale, fmt.Sprintf("%s, revision=%d", stale, revision))
	}
}

// milliseconds rounds up, and a negative time to 0.
func milliseconds(d time.Duration) int64 {
	return int64(max(0, d+time.Millisecond-1) / time.Millisecond)
}
