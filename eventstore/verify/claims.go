package verify

import (
	"context"

	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// claims checks the owner of a claim (D9), given the newest state of an aggregate: a payment with a single-use token is the one
// that the token names, and an idempotency key of an operation belongs to a payment that exists.
func (c *chain) claims(ctx context.Context, key format.Key, a *aggregate) error {
	s, is := a.state.(payment.State)
	if !is || !c.Archive.HasTips() || !c.applied(a.seq) {
		return nil
	}
	fault := func(difference string, args ...any) error {
		return c.report(at(a.stream, key, format.GroupOf(a.seq), a.revision, difference, args...))
	}
	switch {
	case s.Claim != nil && s.Claim.Operation != "":
		owner := eventstore.Payments.Key(key.Account, string(s.Claim.Payment))
		if r, err := c.Archive.Newest(ctx, owner, func(*eventstore.Recorded) bool { return true }); err != nil || r == nil {
			return fault("it claims a key for payment %s, which does not exist%s", s.Claim.Payment, cause(err))
		}
	case s.Exists() && s.Method.Token != "" && !s.Method.Vaulted:
		names := func(r *eventstore.Recorded) bool {
			state, err := known[eventstore.Instruments.Name].recorded(r)
			token, is := state.(instrument.State)
			return err != nil || r.Schema != eventstore.Instruments.Schema || is && token.UsedBy == s.ID
		}
		token := eventstore.Instruments.Key(key.Account, string(s.Method.Token))
		if r, err := c.Archive.Newest(ctx, token, names); err != nil || r == nil {
			return fault("its token %s does not belong to it%s", s.Method.Token, cause(err))
		}
	}
	return nil
}
