package history

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/projections/paymentjson"
)

// Notice is a processor's notification about the payment (D14.5).
type Notice struct {
	ID         string            `json:"id"` // from the processor
	Processor  processor.Name    `json:"processor"`
	Kind       processor.Kind    `json:"kind"`
	ReceivedAt paymentjson.Time  `json:"receivedAt"`
	Found      bool              `json:"found,omitempty"` // a query found it; it did not arrive by itself
	Outcome    inbox.Outcome     `json:"outcome"`
	SettledAt  *paymentjson.Time `json:"settledAt,omitempty"`
	Effect     string            `json:"effect,omitempty"`     // the resulting event
	Dispute    string            `json:"disputeId,omitempty"`  // if the notification is about a dispute
	Refusal    string            `json:"refusal,omitempty"`    // why the notification cannot be true
	Redacted   bool              `json:"redacted,omitempty"`   // parts of the body were not stored
	Body       json.RawMessage   `json:"body"`                 // the fields of the protocol, without card data (D14.9)
	Additional json.RawMessage   `json:"additional,omitempty"` // the body's other fields, until the payment's data is erased
	Hash       string            `json:"hash"`                 // of its event, in the chain of the payment's inbox
}

// notifications returns the part's notifications about a payment in the order of their arrival, by
// the revision of the newest event at that time, the first one at least. times are those of the
// payment's events.
func (r *replay) notifications(ctx context.Context, id domain.PaymentID, times []time.Time) (map[uint64][]Notice, error) {
	tip, err := eventstore.Load(ctx, r.Store, eventstore.Inboxes, eventstore.InboxKey(string(id)), eventstore.Latest)
	if err != nil {
		return nil, fmt.Errorf("history: notifications: %w", err)
	}
	if tip.Recorded == nil {
		return nil, nil
	}
	t, err := follow(ctx, r.Store, tip.Recorded)
	if err != nil {
		return nil, fmt.Errorf("history: notifications: %w", err)
	}
	all := inboxReplay{at: map[string]*Notice{}}
	err = t.each(ctx, tip.Recorded.Revision, func(ctx context.Context, e *eventstore.Recorded) error {
		open := func(sealed *domain.Sealed) (string, error) { return r.Secrets.OpenText(ctx, sealed) }
		return all.event(e, open, func(at time.Time) bool {
			beside := besideOf(times, at)
			return beside > r.after && beside <= r.last
		})
	})
	if err != nil {
		return nil, fmt.Errorf("history: notifications: %w", err)
	}
	beside := map[uint64][]Notice{}
	for _, n := range all.list {
		revision := besideOf(times, n.ReceivedAt.Time)
		beside[revision] = append(beside[revision], *n)
	}
	return beside, nil
}

// besideOf returns the revision of the newest event when a notification arrived.
func besideOf(times []time.Time, received time.Time) uint64 {
	i := len(times) - 1
	for i > 0 && times[i].After(received) {
		i--
	}
	return uint64(i) + 1
}

type inboxReplay struct {
	list []*Notice
	at   map[string]*Notice
}

// event folds one event. It keeps a notification if wanted returns true for its time of arrival.
// open decrypts sealed fields.
func (i *inboxReplay) event(r *eventstore.Recorded, open func(*domain.Sealed) (string, error), wanted func(time.Time) bool) error {
	fact, err := eventstore.Inboxes.Event(r)
	if err != nil {
		return err
	}
	switch e := fact.(type) {
	case inbox.Received:
		if !wanted(e.At) {
			return nil
		}
		n := &Notice{
			ID: e.Payload.ID, Processor: e.Payload.Processor, Kind: e.Payload.Kind, ReceivedAt: paymentjson.Time{Time: e.At}, Found: e.Listed,
			Outcome: inbox.Waiting, Redacted: e.Redacted, Body: body(e.Body), Hash: r.Hash.String(),
		}
		additional, err := open(e.Additional)
		if err != nil {
			return err
		}
		if additional != "" {
			n.Additional = body(additional)
		}
		i.list, i.at[nameOf(e.Payload.Processor, e.Payload.ID)] = append(i.list, n), n
	case inbox.WasApplied:
		if n := i.at[nameOf(e.Processor, e.ID)]; n != nil {
			n.Outcome, n.SettledAt, n.Effect, n.Dispute = inbox.Applied, &paymentjson.Time{Time: e.At}, e.Effect, e.Dispute
		}
	case inbox.WasRejected:
		if n := i.at[nameOf(e.Processor, e.ID)]; n != nil {
			n.Outcome, n.SettledAt, n.Refusal, n.Dispute = inbox.Rejected, &paymentjson.Time{Time: e.At}, e.Refusal, e.Dispute
		}
	}
	return nil
}

func nameOf(name processor.Name, id string) string { return string(name) + " " + id }

// body returns text as JSON: unchanged if it is JSON, else as a string.
func body(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil { // encoding a string cannot fail
		panic(err)
	}
	return quoted
}
