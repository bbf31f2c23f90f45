package events

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/ordered"
	"payledger/httpapi/request"
	"payledger/httpapi/validation"
	"payledger/projections/eventjson"
)

// Source has the events. eventjson.Feed implements it.
type Source interface {
	// Page calls emit with at most limit selected events after a position. If more may follow, next
	// is the position that it reached.
	Page(ctx context.Context, filter eventjson.Filter, after uint64, limit int, emit func(eventjson.Event) error) (next uint64, err error)
	// Newest returns the newest position of the log.
	Newest(ctx context.Context) (uint64, error)
	// Follow calls emit with the selected events after a position and waits for further ones, and
	// passed with each position it reached.
	Follow(ctx context.Context, filter eventjson.Filter, after uint64, emit func(eventjson.Event) error, passed func(uint64) error) error
	// At returns an account's event by its position; false: the account has none there.
	At(ctx context.Context, account domain.AccountID, position uint64) (eventjson.Event, bool, error)
	// Check refuses a position that the log does not have, and a payment that the account does not
	// have.
	Check(ctx context.Context, filter eventjson.Filter, after uint64) error
}

// Handlers serves the calls.
type Handlers struct {
	Source Source
}

// Rules returns the rules that openapi.yaml cannot express, by operation.
func (h *Handlers) Rules() map[string]request.Rule {
	return map[string]request.Rule{"listEvents": listRules, "streamEvents": streamRules}
}

// lastEventID is the header in which a client that connects again sends the id of the last event
// that it received.
const lastEventID = "Last-Event-ID"

func listRules(v *validation.Violations, c *request.Call) {
	typeRules(v, c)
	v.Range(times(c))
}

func typeRules(v *validation.Violations, c *request.Call) {
	known := eventjson.Types()
	for _, name := range request.Several(c.Query, "types") {
		if _, found := slices.BinarySearch(known, name); name != "" && !found {
			v.Add("$.types", "has an unknown event type")
		}
	}
}

func streamRules(v *validation.Violations, c *request.Call) {
	typeRules(v, c)
	if text := c.Header.Get(lastEventID); text != "" {
		if _, err := strconv.ParseUint(text, 10, 53); err != nil {
			v.Add("$."+lastEventID, "must be a position")
		}
	}
}

// headerNewest is the header with the newest position of the log.
const headerNewest = "Payledger-Newest"

// ListEvents serves GET /events.
func (h *Handlers) ListEvents(c *request.Call) (any, error) {
	newest, err := h.Source.Newest(c.Ctx)
	if err != nil {
		return nil, err
	}
	c.AnswerHeader.Set(headerNewest, strconv.FormatUint(newest, 10))
	filter, after := selection(c)
	filter.Times = eventstore.NewWindow(times(c))
	limit := request.Limit(c.Query)
	return request.Listing(func(element func(any) error) (uint64, error) {
		next, err := h.Source.Page(c.Ctx, filter, after, limit, func(e eventjson.Event) error { return element(e) })
		return next, shownError(err)
	}), nil
}

// StreamEvents serves GET /events/stream.
func (h *Handlers) StreamEvents(c *request.Call) (any, error) {
	filter, after := selection(c)
	if last, err := strconv.ParseUint(c.Header.Get(lastEventID), 10, 53); err == nil {
		after = last
	}
	if err := h.Source.Check(c.Ctx, filter, after); err != nil {
		return nil, shownError(err)
	}
	return request.Feed(func(ctx context.Context, send func(request.ServerEvent) error) error {
		return h.Source.Follow(ctx, filter, after, func(e eventjson.Event) error {
			return send(request.ServerEvent{ID: e.Position, Type: e.Type, Data: e})
		}, func(position uint64) error {
			return send(request.ServerEvent{ID: position})
		})
	}), nil
}

// selection returns the filter and the position of a call. Only events of the caller's account are
// selected.
func selection(c *request.Call) (eventjson.Filter, uint64) {
	return eventjson.Filter{
		Account: c.Merchant.ID, Types: request.Several(c.Query, "types"), Payment: domain.PaymentID(c.Query.Get("paymentId")),
	}, uint64(request.Integer(c.Query, "after", 0))
}

// times returns the bounds of the events' times; nil for none.
func times(c *request.Call) (from, to *time.Time) {
	return request.Read(c.Query, "from", validation.ParseTime), request.Read(c.Query, "to", validation.ParseTime)
}

func shownError(err error) error {
	if errors.Is(err, ordered.ErrBeyond) {
		refusal := domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "No event has this position yet.")
		refusal.Recovery = "Name the position of an event that you have read, or 0 to begin with the first event."
		return refusal
	}
	return err
}
