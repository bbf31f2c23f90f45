package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/processor"
	"payledger/eventstore"
)

// Notify takes what a processor told unasked (D14): first it is kept, then it is applied as far as can be now. nil
// means that it is durable, whatever becomes of it; a repeat is one that is kept already. What cannot be applied yet
// waits: for a payment that is not known here, or for another operation's answer.
func (s *Service) Notify(ctx context.Context, requestID string, told processor.SignedNotification) error {
	if !domain.PaymentIDShaped(told.Reference) {
		return domain.Invalid("ProcessorNotification", domain.Violation{Path: "$.reference", Description: "is not an id that a payment here can have"})
	}
	if told.Kind != processor.Dispute {
		if _, ours := revisionOf(told.Notification); !ours {
			return domain.Invalid("ProcessorNotification", domain.Violation{Path: "$.idempotencyKey", Description: "is not a key of the reference"})
		}
	}
	return s.receive(ctx, requestID, told, false)
}

// receive keeps a notification, once, and applies what waits in its inbox.
func (s *Service) receive(ctx context.Context, requestID string, told processor.SignedNotification, found bool) error {
	meta, err := s.Store.NewMeta("processor:"+string(told.Processor), requestID)
	if err != nil {
		return err
	}
	meta.Request = true // a full store sends it away; it is told again, or found by asking
	event := inbox.Receive{At: meta.At, Told: told.Notification, Body: told.Body, Redacted: told.Redacted, Found: found, Unreadable: told.Unreadable}
	if told.Additional != "" {
		event.Additional = s.sealAdditional(ctx, told)
		event.Redacted = told.Redacted || event.Additional == nil
	}
	tip, err := eventstore.Execute(ctx, s.Store, eventstore.Inboxes, eventstore.InboxKey(string(told.Reference)), meta,
		func(state inbox.State) (inbox.Event, error) { return inbox.DecideReceive(state, event) })
	ctx = context.WithoutCancel(ctx) // it is kept, and carried out whether or not the processor is still there
	if noRoom(err) {
		return s.applyUnkept(ctx, requestID, told, meta.At, err)
	}
	if err != nil {
		return err
	}
	if err := s.settle(ctx, tip); err != nil {
		s.Logger.Warn().Err(err).Str("payment", string(told.Reference)).Msg("a notification is kept and waits; trying again")
	}
	return nil
}

// noRoom tells whether an inbox could not take a notification because of what it holds.
func noRoom(err error) bool {
	return errors.Is(err, inbox.ErrFull) || errors.Is(err, eventstore.ErrTooLarge)
}

// ApplyNotices applies what waits in the inbox of a payment, as far as can be now. It may be called by anybody, any
// number of times.
func (s *Service) ApplyNotices(ctx context.Context, reference domain.PaymentID) error {
	tip, err := eventstore.Load(ctx, s.Store, eventstore.Inboxes, eventstore.InboxKey(string(reference)), eventstore.AllowStale)
	if err != nil {
		return err
	}
	return s.settle(ctx, tip)
}

// settle goes through what waits in an inbox, in the order in which it came, and remembers it when some still does.
func (s *Service) settle(ctx context.Context, tip eventstore.Tip[inbox.State]) error {
	waiting := tip.State.Waiting()
	if len(waiting) == 0 {
		return nil
	}
	var failed []error
	s.early.set(tip.State.Reference, true) // before anything is looked at: what is recorded meanwhile counts
	account, known, err := s.PaymentAccount(ctx, tip.State.Reference)
	if err != nil {
		return err
	}
	told, err := s.toldIn(ctx, tip, waiting, known)
	if err != nil {
		return err
	}
	for _, n := range waiting {
		var v verdict
		switch e, read := told[n.Revision]; {
		case read && e.Unreadable != "":
			v, err = verdict{refusal: fmt.Sprintf("It cannot be read: %s.", e.Unreadable)}, nil
		case known:
			v, err = s.applyNotice(ctx, account, e)
		case n.Stale(s.Store.Now()):
			v, err = verdict{refusal: "No payment of this reference has appeared."}, nil
		default:
			err = fmt.Errorf("%w: the payment is not known here", errNotYet)
		}
		if err == nil {
			tip, err = s.settleNotice(ctx, tip, n, v)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s of %s: %w", n.ID, n.Processor, err))
		}
	}
	s.early.set(tip.State.Reference, len(tip.State.Waiting()) > 0)
	return errors.Join(failed...)
}

// toldIn finds what the notifications that wait told, by the revision of its event: all of them, or the one alone that
// is at hand as it has just come.
func (s *Service) toldIn(ctx context.Context, tip eventstore.Tip[inbox.State], waiting []inbox.Notice, all bool) (map[uint64]kept, error) {
	events := []*eventstore.Recorded{tip.Recorded}
	if first := waiting[0].Revision; all && first != tip.Recorded.Revision {
		var err error
		if events, err = s.Store.Since(ctx, tip.Recorded, first); err != nil {
			return nil, err
		}
	}
	told := map[uint64]kept{}
	for _, r := range events {
		event, err := eventstore.Inboxes.Event(r)
		if err != nil {
			return nil, err
		}
		if received, is := event.(inbox.Received); is {
			told[r.Revision] = kept{received, r.CorrelationID}
		}
	}
	return told, nil
}

// settleNotice records what became of a notification.
func (s *Service) settleNotice(ctx context.Context, tip eventstore.Tip[inbox.State], n inbox.Notice, v verdict) (eventstore.Tip[inbox.State], error) {
	meta, err := s.Store.NewMeta("processor:"+string(n.Processor), tip.Recorded.CorrelationID)
	if err != nil {
		return tip, err
	}
	if v.refusal != "" {
		s.Logger.Warn().Str("processor", string(n.Processor)).Str("notification", n.ID).Str("payment", string(tip.State.Reference)).
			Str("dispute", string(v.dispute)).Str("reason", v.refusal).Msg("a notification cannot be true and was rejected")
	}
	next, err := eventstore.ExecuteFrom(ctx, s.Store, eventstore.Inboxes, tip, meta, func(state inbox.State) (inbox.Event, error) {
		if v.refusal != "" {
			return inbox.DecideRejected(state, inbox.WasRejected{
				At: meta.At, Processor: n.Processor, ID: n.ID, Refusal: v.refusal, Dispute: string(v.dispute),
			})
		}
		return inbox.DecideApplied(state, inbox.WasApplied{
			At: meta.At, Processor: n.Processor, ID: n.ID, Effect: v.effect, Dispute: string(v.dispute),
		})
	})
	if next.Recorded == nil {
		next = tip
	}
	return next, err
}

// revisionOf takes the revision out of a notification's operation key (D14).
func revisionOf(n processor.Notification) (uint64, bool) {
	text, ours := strings.CutPrefix(string(n.Key), string(n.Reference)+".")
	revision, err := strconv.ParseUint(text, 10, 64)
	return revision, ours && err == nil
}
