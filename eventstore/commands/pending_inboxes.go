package commands

import (
	"sync"

	"payledger/domain"
)

// maxPendingInboxes bounds what is remembered of inboxes in which something waits; the read models know all of them.
const maxPendingInboxes = 10_000

// pendingInboxes are the payments whose inboxes have something that waits, as far as this process knows: looked at again as
// soon as something is recorded of the payment here. Those that came longest ago are forgotten first, half of them at
// a time: a payment that was told of too early appears soon, or never.
type pendingInboxes struct {
	mu         sync.Mutex
	young, old map[domain.PaymentID]bool
}

func (e *pendingInboxes) set(reference domain.PaymentID, waits bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.old, reference)
	if !waits {
		delete(e.young, reference)
		return
	}
	if e.young == nil || len(e.young) >= maxPendingInboxes/2 && !e.young[reference] {
		e.young, e.old = map[domain.PaymentID]bool{}, e.young
	}
	e.young[reference] = true
}

func (e *pendingInboxes) has(reference domain.PaymentID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.young[reference] || e.old[reference]
}

// applyPendingOf applies what waited for a payment of which something was recorded.
func (s *Service) applyPendingOf(reference domain.PaymentID) {
	if !s.pendingInboxes.has(reference) || s.ctx.Err() != nil {
		return
	}
	s.workers.do(func() {
		if err := s.ApplyPendingNotifications(s.ctx, reference); err != nil && s.ctx.Err() == nil {
			s.Logger.Debug().Err(err).Str("payment", string(reference)).Msg("a notification goes on waiting")
		}
	})
}
