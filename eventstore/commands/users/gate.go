package users

import "context"

// gate bounds the sign-ins that compare a password at the same time, and those that wait.
type gate struct{ admitted, slots chan struct{} }

func newGate(slots, waiting int) gate {
	return gate{admitted: make(chan struct{}, slots+waiting), slots: make(chan struct{}, slots)}
}

func (g gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.admitted <- struct{}{}:
	default:
		return nil, refuse(Busy)
	}
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots; <-g.admitted }, nil
	case <-ctx.Done():
		<-g.admitted
		return nil, ctx.Err()
	}
}
