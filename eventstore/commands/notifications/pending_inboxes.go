package notifications

import (
	"sync"

	"payledger/domain"
)

// maxPendingInboxes limits the remembered inboxes; the views know all of them.
const maxPendingInboxes = 10_000

// pendingInboxes are the payments with pending notifications, as far as this process knows: a new
// event of one applies them again. If there are too many, the oldest half is forgotten: the payment
// of an early notification appears soon, or never.
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

// ApplyWaiting applies the pending notifications of a payment that has a new event.
func (s *Notifications) ApplyWaiting(reference domain.PaymentID) {
	if !s.pending.has(reference) || s.Life.Err() != nil {
		return
	}
	s.Go(func() {
		if err := s.ApplyPendingNotifications(s.Life, reference); err != nil && s.Life.Err() == nil {
			s.Logger.Debug().Err(err).Str("payment", string(reference)).Msg("notification still pending")
		}
	})
}
