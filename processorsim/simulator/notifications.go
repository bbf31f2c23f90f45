package simulator

import (
	"strings"
	"sync"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/notify"
	"payledger/processorsim/protocol"
	"payledger/processorsim/server"
	"payledger/processorsim/simulator/books"
)

const reorderDefault = 3 * time.Second // the hold of reorder without another notification

// held are the notifications that the fault reorder holds back until another was sent.
type held struct {
	mu   sync.Mutex
	list []*notify.Notification
}

func (s *Simulator) notify(o books.Operation) {
	if o.NotifyURL == "" {
		return
	}
	body := server.Encode(protocol.Notification{
		ID: "nt_" + strings.TrimPrefix(o.ID, "op_"), Processor: o.Processor, Type: o.Kind,
		IdempotencyKey: o.Key, Reference: o.Reference, Answer: &o.Answer,
	})
	s.dispatch(&notify.Notification{ID: o.ID, URL: o.NotifyURL, Body: body}, o.Processor, o.Kind)
}

// notifyDispute sends a dispute report. A fault that names disputes loses or delays it (D14.13).
func (s *Simulator) notifyDispute(t books.DisputeReport) {
	if t.NotifyURL == "" {
		return
	}
	n := &notify.Notification{ID: t.ID, URL: t.NotifyURL, Body: disputeBody(t)}
	name := t.Dispute.Processor
	if _, lost := s.faults.draw(name, processor.Dispute, protocol.DropBefore); lost {
		s.notified(n.ID)
		return
	}
	if fault, late := s.faults.draw(name, processor.Dispute, protocol.Latency); late {
		s.timers.After(time.Duration(fault.DelayMs)*time.Millisecond, func() { s.dispatch(n, name, processor.Dispute) })
		return
	}
	s.dispatch(n, name, processor.Dispute)
}

// dispatch sends a notification twice or late if a fault says so.
func (s *Simulator) dispatch(n *notify.Notification, name processor.Name, kind processor.Kind) {
	if _, hit := s.faults.draw(name, kind, protocol.DuplicateNotification); hit {
		n.Copies = 2
	}
	fault, hit := s.faults.draw(name, kind, protocol.Reorder)
	if !hit {
		s.sender.Send(n)
		return
	}
	s.held.mu.Lock()
	s.held.list = append(s.held.list, n)
	s.held.mu.Unlock()
	wait := reorderDefault
	if fault.DelayMs > 0 {
		wait = time.Duration(fault.DelayMs) * time.Millisecond
	}
	s.timers.After(wait, s.sendHeld)
}

func (s *Simulator) sendHeld() {
	s.held.mu.Lock()
	list := s.held.list
	s.held.list = nil
	s.held.mu.Unlock()
	s.sender.Send(list...)
}

func (s *Simulator) notified(id string) {
	if err := s.books.Notified(id); err != nil {
		s.log.Error().Err(err).Str("operation", id).Msg("the end of a notification could not be recorded")
	}
}
