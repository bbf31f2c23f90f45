package verify

import (
	"context"

	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// claims checks the owner of a claim (D9), given the newest state of an aggregate.
func (c *chain) claims(ctx context.Context, key format.Key, a *aggregate) error {
	s, is := a.state.(payment.State)
	if !is || !c.Archive.HasTips() || !c.applied(a.seq) {
		return nil
	}
	fault := c.faultOf(key, a)
	switch {
	case s.Claim != nil && s.Claim.Operation != "":
		owner := eventstore.Payments.Key(key.Account, string(s.Claim.Payment))
		if c.owners.know(exists(owner)) {
			return nil
		}
		if r, err := c.Archive.Newest(ctx, owner, func(*eventstore.Recorded) bool { return true }); err != nil || r == nil {
			return fault("it claims a key for payment %s, which does not exist%s", s.Claim.Payment, cause(err))
		}
	case s.Exists() && s.Method.Token != "" && !s.Method.Vaulted:
		token := eventstore.Instruments.Key(key.Account, string(s.Method.Token))
		if c.owners.know(named(token, s.ID)) {
			return nil
		}
		names := func(r *eventstore.Recorded) bool {
			state, err := known[eventstore.Instruments.Name].DecodeState(r)
			owner, is := state.(instrument.State)
			return err != nil || r.Schema != eventstore.Instruments.Schema || is && owner.UsedBy == s.ID
		}
		if r, err := c.Archive.Newest(ctx, token, names); err != nil || r == nil {
			return fault("its token %s does not belong to it%s", s.Method.Token, cause(err))
		}
	}
	return nil
}
