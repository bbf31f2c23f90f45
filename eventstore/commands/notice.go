package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"payledger/domain"
	"payledger/domain/inbox"
	"payledger/domain/payment"
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
	key := eventstore.InboxKey(string(told.Reference))
	tip, err := eventstore.Execute(ctx, s.Store, eventstore.Inboxes, key, meta, func(state inbox.State) (inbox.Event, error) {
		return inbox.DecideReceive(state, inbox.Receive{
			At: meta.At, Told: told.Notification, Body: told.Body, Redacted: told.Redacted, Found: found,
		})
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is kept, and carried out whether or not the processor is still there
	if err := s.settle(ctx, tip); err != nil {
		s.Logger.Warn().Err(err).Str("payment", string(told.Reference)).Msg("a notification is kept and waits; trying again")
	}
	return nil
}

// ApplyNotices applies what waits in the inbox of a payment, as far as can be now. It may be called by anybody, any
// number of times.
func (s *Service) ApplyNotices(ctx context.Context, reference domain.PaymentID) error {
	tip, err := eventstore.LoadTip(ctx, s.Store, eventstore.Inboxes, eventstore.InboxKey(string(reference)))
	if err != nil {
		return err
	}
	return s.settle(ctx, tip)
}

// settle goes through what waits in an inbox, in the order in which it came, and remembers it when some still does.
func (s *Service) settle(ctx context.Context, tip eventstore.Tip[inbox.State]) error {
	var failed []error
	waiting := tip.State.Waiting()
	if len(waiting) == 0 {
		return nil
	}
	s.early.set(tip.State.Reference, true) // before anything is looked at: what is recorded meanwhile counts
	for _, n := range waiting {
		verdict, err := s.applyNotice(ctx, n)
		if err == nil {
			tip, err = s.settleNotice(ctx, tip, n, verdict)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s of %s: %w", n.ID, n.Processor, err))
		}
	}
	s.early.set(tip.State.Reference, len(tip.State.Waiting()) > 0)
	return errors.Join(failed...)
}

// verdict is what became of a notification.
type verdict struct {
	effect  string // the event that it led to
	refusal string // why it cannot be true
	dispute domain.DisputeID
}

// errNotYet means that a notification has to wait, as it well may.
var errNotYet = errors.New("it waits for something else")

// applyNotice does what a notification asks for. Doing it twice is doing it once: the payment and the dispute know
// what they were told.
func (s *Service) applyNotice(ctx context.Context, n inbox.Notice) (verdict, error) {
	told := n.Told
	account, known, err := s.PaymentAccount(ctx, told.Reference)
	if err != nil {
		return verdict{}, err
	}
	if !known {
		if n.Stale(s.Store.Now()) {
			return verdict{refusal: "No payment of this reference has appeared."}, nil
		}
		return verdict{}, fmt.Errorf("%w: the payment is not known here", errNotYet)
	}
	tip, err := eventstore.LoadTipAtLeader(ctx, s.Store, eventstore.Payments, eventstore.Payments.Key(account, string(told.Reference)))
	if err != nil {
		return verdict{}, err
	}
	if told.Kind == processor.Dispute {
		return s.applyDispute(ctx, tip, n)
	}
	return s.applyAnswer(ctx, tip, n)
}

// applyAnswer records the result of an operation: a fact like an answer.
func (s *Service) applyAnswer(ctx context.Context, tip eventstore.Tip[payment.State], n inbox.Notice) (verdict, error) {
	told := n.Told
	revision, _ := revisionOf(*told)
	op, found := tip.State.Operation(revision)
	if !found || op.Target.Processor != told.Processor || op.Kind != told.Kind || op.Refused {
		return verdict{refusal: fmt.Sprintf("The payment has no %s at %s under this key.", told.Kind, told.Processor)}, nil
	}
	next, err := s.recordAnswer(ctx, tip, revision, *told.Answer)
	switch {
	case errors.Is(err, payment.ErrRunning):
		return verdict{}, fmt.Errorf("%w: %w", errNotYet, err)
	case errors.Is(err, processor.ErrUnknown):
		return verdict{refusal: fmt.Sprintf("A %s cannot be %s.", told.Kind, told.Answer.State)}, nil
	case err != nil:
		return verdict{}, err
	}
	v := verdict{}
	if next.Appended {
		v.effect = next.Recorded.Type
		s.launchRequested(next, time.Time{})
	}
	if f := s.flights.find(told.Key); f != nil {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	return v, nil
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
	next, err := eventstore.Resume(ctx, s.Store, eventstore.Inboxes, tip, meta, func(state inbox.State) (inbox.Event, error) {
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

// maxEarly bounds what is remembered of inboxes in which something waits; the read models know all of them.
const maxEarly = 10_000

// early are the payments whose inboxes have something that waits, as far as this process knows: looked at again as
// soon as something is recorded of the payment here.
type early struct {
	mu   sync.Mutex
	some map[domain.PaymentID]bool
}

func (e *early) set(reference domain.PaymentID, waits bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !waits:
		delete(e.some, reference)
	case len(e.some) < maxEarly:
		if e.some == nil {
			e.some = map[domain.PaymentID]bool{}
		}
		e.some[reference] = true
	}
}

// revisit applies what waited for a payment of which something was recorded.
func (s *Service) revisit(reference domain.PaymentID) {
	s.early.mu.Lock()
	waits := s.early.some[reference]
	s.early.mu.Unlock()
	if !waits || s.ctx.Err() != nil {
		return
	}
	s.workers.do(func() {
		if err := s.ApplyNotices(s.ctx, reference); err != nil && s.ctx.Err() == nil {
			s.Logger.Debug().Err(err).Str("payment", string(reference)).Msg("a notification goes on waiting")
		}
	})
}
