package sender

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"payledger/notifier/delivery"
	"payledger/notifier/listener"
	"payledger/notifier/signature"
)

func (s *Sender) handOver(ctx context.Context, m Message, body []byte) (got reply, err error) {
	if s.Listeners == nil {
		return got, listener.ErrNoReader
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	r := m.About
	r.Header, r.Body = map[string]string{}, string(body)
	headers(m, body, func(name, value string) { r.Header[name] = value })
	if n := len(m.Keys); n > 0 {
		r.Header[signature.HeaderListener] = signature.Sign(m.Keys[n-1].Text, body)
	}
	answer, err := s.Listeners.Send(ctx, m.Listener, r, func() (func(), error) { return s.beginHandOver(m) })
	if err != nil {
		return got, err
	}
	got = reply{status: answer.Status, at: s.Now(), start: []byte(answer.Body[:min(len(answer.Body), ExcerptLimit)])}
	if answer.Status == 0 {
		return got, programError{answer.Failure}
	}
	return got, nil
}

// beginHandOver is the check before the first byte (Message.Fresh). Settle waits until the first
// byte is written, for firstWriteTime at most: a reader that takes nothing must not hold up a
// change.
func (s *Sender) beginHandOver(m Message) (end func(), err error) {
	leave := sync.OnceFunc(s.gate.enter())
	if m.Fresh != nil {
		if err := m.Fresh(); err != nil {
			leave()
			return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
	}
	timer := time.AfterFunc(firstWriteTime, leave)
	return func() { timer.Stop(); leave() }, nil
}

type programError struct{ failure delivery.Failure }

func (e programError) Error() string {
	return "notifier: the program gave no answer: " + string(e.failure)
}

func listenerFailure(err error) (delivery.Failure, bool) {
	var of programError
	switch {
	case errors.As(err, &of):
		return of.failure, true
	case errors.Is(err, listener.ErrNoReader):
		return delivery.FailureUnreached, true
	case errors.Is(err, listener.ErrCut):
		return delivery.FailureConnection, true
	}
	return "", false
}
