package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/projections"
)

// Notice is what a processor told unasked about the payment (D14).
type Notice struct {
	ID         string            `json:"id"` // the processor's
	Processor  processor.Name    `json:"processor"`
	Kind       processor.Kind    `json:"kind"`
	ReceivedAt projections.Time  `json:"receivedAt"`
	Found      bool              `json:"found,omitempty"` // by asking: it did not come
	Outcome    inbox.Outcome     `json:"outcome"`
	SettledAt  *projections.Time `json:"settledAt,omitempty"`
	Effect     string            `json:"effect,omitempty"`    // the event that it led to
	Dispute    string            `json:"disputeId,omitempty"` // that it tells of
	Refusal    string            `json:"refusal,omitempty"`   // why it cannot be true
	Redacted   bool              `json:"redacted,omitempty"`
	Body       json.RawMessage   `json:"body"` // as it came, without card data
	Hash       string            `json:"hash"` // of its event, in the chain of the payment's inbox
}

// notices reads what processors told about a payment, in the order in which it came.
func (h *Reader) notices(ctx context.Context, id domain.PaymentID) ([]Notice, error) {
	events, err := h.Store.History(ctx, eventstore.InboxKey(string(id)))
	if errors.Is(err, eventstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("history: notifications: %w", err)
	}
	var all []Notice
	at := map[string]int{}
	for _, r := range events {
		fact, err := eventstore.Inboxes.Event(r)
		if err != nil {
			return nil, fmt.Errorf("history: notifications: %w", err)
		}
		switch e := fact.(type) {
		case inbox.Received:
			at[nameOf(e.Told.Processor, e.Told.ID)] = len(all)
			all = append(all, Notice{
				ID: e.Told.ID, Processor: e.Told.Processor, Kind: e.Told.Kind, ReceivedAt: projections.Time{Time: e.At}, Found: e.Found,
				Outcome: inbox.Waiting, Redacted: e.Redacted, Body: body(e.Body), Hash: r.Hash.String(),
			})
		case inbox.WasApplied:
			n := &all[at[nameOf(e.Processor, e.ID)]]
			n.Outcome, n.SettledAt, n.Effect, n.Dispute = inbox.Applied, &projections.Time{Time: e.At}, e.Effect, e.Dispute
		case inbox.WasRejected:
			n := &all[at[nameOf(e.Processor, e.ID)]]
			n.Outcome, n.SettledAt, n.Refusal, n.Dispute = inbox.Rejected, &projections.Time{Time: e.At}, e.Refusal, e.Dispute
		}
	}
	return all, nil
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

// attach puts each notification beside the newest event that was there when it came; one that came before its
// payment, beside the first.
func attach(entries []Entry, all []Notice) {
	for _, n := range all {
		i := len(entries) - 1
		for i > 0 && entries[i].Time.After(n.ReceivedAt.Time) {
			i--
		}
		entries[i].Notices = append(entries[i].Notices, n)
	}
}
