package commandstest

import (
	"context"
	"fmt"

	"payledger/domain"
	"payledger/eventstore"
)

// Refuse executes a command in a store that refuses some events: refuses gets the type of the event
// that the command is about to append. refused reports that the event was refused.
func Refuse(ctx context.Context, s eventstore.Store, c eventstore.Command, refuses func(eventType string) bool) (tip eventstore.Tip[any], refused bool, err error) {
	decide := c.Decide
	c.Decide = func(state any) (domain.Event, error) {
		event, err := decide(state)
		if err != nil || event == nil || !refused && !refuses(event.Type()) {
			return event, err
		}
		refused = true // also if it is decided again on a newer state
		return nil, domain.Unavailable(fmt.Errorf("%w: a test", eventstore.ErrRefused))
	}
	tip, err = s.ExecuteUntyped(ctx, c)
	return tip, refused, err
}
