package notifications

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/payment"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/payments"
)

// Notifications applies the messages that processors send by themselves.
type Notifications struct {
	*commands.Base
	payments *payments.Payments
	pending  pendingInboxes
	sweeps   map[processor.Name]*sweep
}

// New returns the commands of notifications.
func New(b *commands.Base, p *payments.Payments) *Notifications {
	s := &Notifications{Base: b, payments: p, sweeps: map[processor.Name]*sweep{}}
	for _, name := range processor.Names {
		s.sweeps[name] = &sweep{}
	}
	return s
}

// Notify stores a processor's notification and applies it as far as possible now (D14.5, D14.6).
// Without an error it is durable.
func (s *Notifications) Notify(ctx context.Context, requestID string, payload processor.SignedNotification) error {
	if !domain.PaymentIDShaped(payload.Reference) {
		return domain.Invalid("ProcessorNotification", domain.Violation{Path: "$.reference", Description: "is not an id that a payment here can have"})
	}
	if payload.Kind != processor.Dispute {
		if _, ours := (payment.State{ID: payload.Reference}).RevisionOf(payload.Key); !ours {
			return domain.Invalid("ProcessorNotification", domain.Violation{Path: "$.idempotencyKey", Description: "is not a key of the reference"})
		}
	}
	return s.receive(ctx, requestID, payload, false)
}

// receive stores a notification once, and applies the pending ones of its inbox. found means that a
// sweep found it.
func (s *Notifications) receive(ctx context.Context, requestID string, payload processor.SignedNotification, found bool) error {
	meta, err := s.Store.NewMeta("processor:"+string(payload.Processor), requestID)
	if err != nil {
		return err
	}
	meta.Request = true // a full store refuses it; the processor repeats it, or a sweep finds it
	event := inbox.Receive{At: meta.At, Payload: payload.Notification, Body: payload.Body, Redacted: payload.Redacted, Listed: found, Unreadable: payload.Unreadable}
	if payload.Additional != "" {
		event.Additional = s.sealAdditional(ctx, payload)
		event.Redacted = payload.Redacted || event.Additional == nil
	}
	tip, err := s.Log.Inboxes.Execute(ctx, eventstore.InboxOwner, string(payload.Reference), meta,
		func(state inbox.State) (inbox.Event, error) { return inbox.DecideReceive(state, event) })
	ctx = context.WithoutCancel(ctx) // commit point: it is stored, and is applied even if the processor disconnects
	if noRoom(err) {
		return s.applyUnstored(ctx, requestID, payload, meta.At, err)
	}
	if err != nil {
		return err
	}
	if err := s.applyInbox(ctx, tip); err != nil {
		s.Logger.Warn().Err(err).Str("payment", string(payload.Reference)).Msg("a stored notification could not be applied; trying again")
	}
	return nil
}

func noRoom(err error) bool {
	return errors.Is(err, inbox.ErrFull) || errors.Is(err, eventstore.ErrTooLarge)
}

// ApplyPendingNotifications applies the pending notifications of a payment as far as possible now.
// Repeated calls are safe.
func (s *Notifications) ApplyPendingNotifications(ctx context.Context, reference domain.PaymentID) error {
	tip, err := s.Log.Inboxes.Load(ctx, eventstore.InboxOwner, string(reference), eventstore.Applied)
	if err != nil {
		return err
	}
	return s.applyInbox(ctx, tip)
}

// applyInbox applies the pending notifications in the order of their arrival, and remembers the
// inbox if some stay pending.
func (s *Notifications) applyInbox(ctx context.Context, tip eventstore.Tip[inbox.State]) error {
	waiting := tip.State.Waiting()
	if len(waiting) == 0 {
		return nil
	}
	var failed []error
	s.pending.set(tip.State.Reference, true) // before the payment is loaded: an event recorded meanwhile applies the inbox again
	account, known, err := s.PaymentAccount(ctx, tip.State.Reference)
	if err != nil {
		return err
	}
	payload, err := s.payloadsIn(ctx, tip, waiting, known)
	if err != nil {
		return err
	}
	for _, n := range waiting {
		var result disposition
		switch e, read := payload[n.Revision]; {
		case read && e.Unreadable != "":
			result, err = disposition{refusal: fmt.Sprintf("It cannot be read: %s.", e.Unreadable)}, nil
		case known:
			result, err = s.applyNotification(ctx, account, e)
		case n.Stale(s.Store.Now()):
			result, err = disposition{refusal: "No payment of this reference has appeared."}, nil
		default:
			err = fmt.Errorf("%w: the payment is not known here", errNotYet)
		}
		if err == nil {
			tip, err = s.recordDisposition(ctx, tip, n, cmp.Or(payload[n.Revision].correlation, tip.Recorded.CorrelationID), result)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s of %s: %w", n.ID, n.Processor, err))
		}
	}
	s.pending.set(tip.State.Reference, len(tip.State.Waiting()) > 0)
	return errors.Join(failed...)
}

// payloadsIn returns the pending notifications by the revision of their event: all, or only the
// newest event's, without reading the log.
func (s *Notifications) payloadsIn(ctx context.Context, tip eventstore.Tip[inbox.State], waiting []inbox.Notification, all bool) (map[uint64]stored, error) {
	events := []*eventstore.Recorded{tip.Recorded}
	if first := waiting[0].Revision; all && first != tip.Recorded.Revision {
		var err error
		if events, err = s.Store.Since(ctx, tip.Recorded, first); err != nil {
			return nil, err
		}
	}
	payload := map[uint64]stored{}
	for _, r := range events {
		event, err := eventstore.Inboxes.Event(r)
		if err != nil {
			return nil, err
		}
		if received, is := event.(inbox.Received); is {
			payload[r.Revision] = stored{received, r.CorrelationID}
		}
	}
	return payload, nil
}

func (s *Notifications) recordDisposition(ctx context.Context, tip eventstore.Tip[inbox.State], n inbox.Notification, correlation string, result disposition) (eventstore.Tip[inbox.State], error) {
	meta, err := s.Store.NewMeta("processor:"+string(n.Processor), correlation)
	if err != nil {
		return tip, err
	}
	if result.refusal != "" {
		s.Logger.Warn().Str("processor", string(n.Processor)).Str("notification", n.ID).Str("payment", string(tip.State.Reference)).
			Str("dispute", string(result.dispute)).Str("reason", result.refusal).Msg("a notification cannot be true and was rejected")
	}
	next, err := s.Log.Inboxes.ExecuteFrom(ctx, tip, meta, func(state inbox.State) (inbox.Event, error) {
		if result.refusal != "" {
			return inbox.DecideRejected(state, inbox.WasRejected{
				At: meta.At, Processor: n.Processor, ID: n.ID, Refusal: result.refusal, Dispute: string(result.dispute),
			})
		}
		return inbox.DecideApplied(state, inbox.WasApplied{
			At: meta.At, Processor: n.Processor, ID: n.ID, Effect: result.effect, Dispute: string(result.dispute),
		})
	})
	if next.Recorded == nil {
		next = tip
	}
	return next, err
}
