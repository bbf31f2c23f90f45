package commands

import (
	"context"
	"time"

	"payledger/domain"
	"payledger/eventstore"
)

// Caller is the origin of a command: its events' account, actor and correlation id (I2).
type Caller struct {
	Account   domain.AccountID
	Actor     string // "api_key:<id>", "client_token:<session id>", "cli:init", "process:recovery"
	RequestID string // X-Request-Id: the events' correlation id
	Origin    string // the client's address, of the management's calls only (D20)
	Seen      uint64 // revision of the payment that the caller decided about; an operation on another revision is refused. 0: any

	UserSession domain.UserSessionID // of a dashboard user's request; "": none. If it has ended, nothing of the account is changed
}

// Execute is the method Execute or ExecuteNew of a repository.
type Execute[ID ~string, S any, E domain.Event] = func(context.Context, domain.AccountID, ID, eventstore.Meta, func(S) (E, error)) (eventstore.Tip[S], error)

// Request executes a command that the caller requests on an aggregate of its account. decide gets
// the time of the event.
func Request[ID ~string, S any, E domain.Event](ctx context.Context, b *Base, by Caller, execute Execute[ID, S, E], id ID, decide func(S, time.Time) (E, error)) (eventstore.Tip[S], error) {
	meta, err := b.RequestMeta(by)
	if err != nil {
		return eventstore.Tip[S]{}, err
	}
	return execute(ctx, by.Account, id, meta, func(state S) (E, error) { return decide(state, meta.At) })
}

// Follow is Request for a consequence of a recorded request. A full store does not refuse it.
func Follow[ID ~string, S any, E domain.Event](ctx context.Context, b *Base, by Caller, execute Execute[ID, S, E], id ID, decide func(S, time.Time) (E, error)) (eventstore.Tip[S], error) {
	meta, err := b.followMeta(by)
	if err != nil {
		return eventstore.Tip[S]{}, err
	}
	return execute(ctx, by.Account, id, meta, func(state S) (E, error) { return decide(state, meta.At) })
}

// RequestMeta returns the metadata of an event that the caller requests. A full store refuses the
// event.
func (b *Base) RequestMeta(by Caller) (eventstore.Meta, error) {
	meta, err := b.followMeta(by)
	meta.Request = true
	return meta, err
}

func (b *Base) followMeta(by Caller) (eventstore.Meta, error) {
	meta, err := b.Store.NewMeta(by.Actor, by.RequestID)
	meta.Origin = by.Origin
	return meta, err
}

const maxRetries = 16

// Retry repeats a command while a concurrent command changes the state that it was decided on.
func Retry[T any](try func() (made T, moved bool, err error)) (T, error) {
	for range maxRetries {
		if made, moved, err := try(); !moved {
			return made, err
		}
	}
	var none T
	return none, eventstore.Overtaken()
}
