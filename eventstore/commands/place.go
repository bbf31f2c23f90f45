package commands

import (
	"context"
	"time"
)

// Place is a caller's place among the requests that are worked on at once, where their number is bounded (D1). Who waits for
// somebody else leaves it to others meanwhile.
type Place interface {
	// Leave gives the place up; again, it does nothing.
	Leave()
	// Return waits until there is a place again.
	Return(ctx context.Context)
}

type placeKey struct{}

// WithPlace gives a call its caller's place.
func WithPlace(ctx context.Context, p Place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// aside leaves the caller's place, if it has one, until back is called.
func aside(ctx context.Context) (back func()) {
	p, ok := ctx.Value(placeKey{}).(Place)
	if !ok {
		return func() {}
	}
	p.Leave()
	return func() { p.Return(ctx) }
}

// promptly is how long an answer of a processor may take until the callers that wait for it leave their places. Quick
// answers count as work: a crowd of them is bounded, too.
const promptly = 100 * time.Millisecond

// asideLater leaves the caller's place, if it has one, unless stop is called promptly. The place is not taken again: only the
// answer is left to be written.
func asideLater(ctx context.Context) (stop func() bool) {
	p, ok := ctx.Value(placeKey{}).(Place)
	if !ok {
		return func() bool { return true }
	}
	return time.AfterFunc(promptly, p.Leave).Stop
}
