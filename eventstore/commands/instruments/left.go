package instruments

import (
	"context"
	"sync"

	"payledger/eventstore/secrets"
)

// leftCards are the saved cards of ended tokens whose destruction failed.
type leftCards struct {
	mu   sync.Mutex
	refs []secrets.CardRef
}

func (l *leftCards) add(refs ...secrets.CardRef) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refs = append(l.refs, refs...)
}

func (l *leftCards) take() []secrets.CardRef {
	l.mu.Lock()
	defer l.mu.Unlock()
	refs := l.refs
	l.refs = nil
	return refs
}

// DestroySaved destroys the saved card of an ended token (D5.13). If that fails, DestroyLeft
// repeats it. After a crash another node does, or the next start (package recovery).
func (s *Instruments) DestroySaved(ctx context.Context, ref secrets.CardRef) error {
	err := s.Secrets.DestroyKept(context.WithoutCancel(ctx), ref)
	if err != nil {
		s.left.add(ref)
	}
	return err
}

// DestroyLeft repeats the destructions that failed, and returns the number of their cards. Those
// that fail again are kept for the next call.
func (s *Instruments) DestroyLeft(ctx context.Context) (int, error) {
	refs := s.left.take()
	if len(refs) == 0 {
		return 0, nil
	}
	if err := s.Secrets.DestroyKept(ctx, refs...); err != nil {
		s.left.add(refs...)
		return 0, err
	}
	return len(refs), nil
}
