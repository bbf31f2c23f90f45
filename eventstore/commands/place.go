package commands

import (
	"context"
	"time"
)

// Place is a caller's slot in the limit of concurrent requests (D1). A caller leaves its slot while
// it waits.
type Place interface {
	// Leave releases the slot. A repeated call does nothing.
	Leave()
	// Return waits until a slot is free.
	Return(ctx context.Context)
}

type placeKey struct{}

// WithPlace returns a context with the caller's slot.
func WithPlace(ctx context.Context, p Place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// Aside leaves the caller's slot, if there is one. back waits for a slot again.
func Aside(ctx context.Context) (back func()) {
	p, ok := ctx.Value(placeKey{}).(Place)
	if !ok {
		return func() {}
	}
	p.Leave()
	return func() { p.Return(ctx) }
}

// promptly is how long a caller keeps its slot while it waits for a processor.
const promptly = 100 * time.Millisecond

// AsideLater leaves the caller's slot after promptly, unless stop is called earlier. The caller
// does not take the slot again.
func AsideLater(ctx context.Context) (stop func() bool) {
	p, ok := ctx.Value(placeKey{}).(Place)
	if !ok {
		return func() bool { return true }
	}
	return time.AfterFunc(promptly, p.Leave).Stop
}
