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

// Notice is what a processor told unasked about the payment (D14).
type Notice struct {
	ID         string            `json:"id"` // the processor's
	Processor  processor.Name    `json:"processor"`
	Kind       processor.Kind    `json:"kind"`
	ReceivedAt paymentjson.Time  `json:"receivedAt"`
	Found      bool              `json:"found,omitempty"` // by asking: it did not come
	Outcome    inbox.Outcome     `json:"outcome"`
	SettledAt  *paymentjson.Time `json:"settledAt,omitempty"`
	Effect     string            `json:"effect,omitempty"`     // the event that it led to
	Dispute    string            `json:"disputeId,omitempty"`  // that it tells of
	Refusal    string            `json:"refusal,omitempty"`    // why it cannot be true
	Redacted   bool              `json:"redacted,omitempty"`   // something of the body was not kept
	Body       json.RawMessage   `json:"body"`                 // what the protocol names, without card data
	Additional json.RawMessage   `json:"additional,omitempty"` // the body's other fields, until the payment's data is erased
	Hash       string            `json:"hash"`                 // of its event, in the chain of the payment's inbox
}

// told reads the processors' notifications about a payment, in the order in which they came, and groups them by the
// revision of the newest event that existed when the notification came; a notification that came before its payment
// belongs to the first event. times are those of the payment's events. Only notifications of the part are kept: an inbox
// takes 500 in all.
func (r *replay) told(ctx context.Context, id domain.PaymentID, times []time.Time) (map[uint64][]Notice, error) {
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
		open := func(sealed *domain.Sealed) (string, error) { return r.Vault.OpenText(ctx, sealed) }
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

// besideOf is the revision of the event that a notification stands beside.
func besideOf(times []time.Time, received time.Time) uint64 {
	i := len(times) - 1
	for i > 0 && times[i].After(received) {
		i--
	}
	return uint64(i) + 1
}

// inboxReplay folds the events of an inbox into notices.
type inboxReplay struct {
	list []*Notice
	at   map[string]*Notice
}

// event takes in one event; a notification is kept if wanted says so of the time when it came, and what is sealed of it
// opened.
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

// body is JSON as it stands; what is none is a text.
func body(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a text always encodes
		panic(err)
	}
	return quoted
}
