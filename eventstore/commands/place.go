package commands

import (
	"context"
	"time"
)

// Place is a caller's slot among the requests that are served concurrently, where their number is limited (D1). A
// caller that waits leaves its slot to others.
type Place interface {
	// Leave gives the slot up. A repeated call does nothing.
	Leave()
	// Return waits until a slot is free.
	Return(ctx context.Context)
}

type placeKey struct{}

// WithPlace returns a context with the caller's slot.
func WithPlace(ctx context.Context, p Place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// aside leaves the caller's slot, if there is one, until back is called.
func aside(ctx context.Context) (back func()) {
	p, ok := ctx.Value(placeKey{}).(Place)
	if !ok {
		return func() {}
	}
	p.Leave()
	return func() { p.Return(ctx) }
}

// promptly is how long callers keep their slots while they wait for a processor. Calls that a processor answers
// promptly are limited in number, too.
const promptly = 100 * time.Millisecond

// asideLater leaves the caller's slot, if there is one, unless stop is called promptly. The caller does not return to
// it: only the response is left to write.
func asideLater(ctx context.Context) (stop func() bool) {
	p, ok := ctx.Value(placeKey{}).(Place)
	if !ok {
		return func() bool { return true }
	}
	return time.AfterFunc(promptly, p.Leave).Stop
}
