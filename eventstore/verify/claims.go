package verify

import (
	"context"
	"maps"
	"slices"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// claim is what the newest state of an aggregate says about another one, its owner (D9).
type claim struct {
	owner format.Key
	fact  fact
	fits  func(*format.Recorded) bool // the owner's newest event
	fault string                      // without the fact
}

func claimOf(key format.Key, state any) (claim, bool) {
	s, is := state.(payment.State)
	switch {
	case !is:
	case s.Claim != nil && s.Claim.Operation != "":
		owner := eventstore.Payments.Key(key.Account, string(s.Claim.Payment))
		return claim{owner, exists(owner), func(*format.Recorded) bool { return true }, "it claims a key for payment " + string(s.Claim.Payment) + ", which does not exist"}, true
	case s.Exists() && s.Method.Token != "" && !s.Method.Vaulted:
		token := eventstore.Instruments.Key(key.Account, string(s.Method.Token))
		names := func(r *format.Recorded) bool {
			state, err := cores[eventstore.Instruments.Name].DecodeState(r)
			owner, is := state.(instrument.State)
			return err != nil || r.Schema != eventstore.Instruments.Schema || is && owner.UsedBy == s.ID
		}
		return claim{token, named(token, s.ID), names, "its token " + string(s.Method.Token) + " does not belong to it"}, true
	}
	return claim{}, false
}

// claims checks the owner of a claim, given the newest state of an aggregate. Without a tip store
// it keeps the claim, and the facts that other claims rely on, until all shards were read.
func (c *chain) claims(ctx context.Context, key format.Key, a *aggregate) error {
	if !c.Archive.HasTips() && c.Only == "" {
		if f, is := factOfState(key, a.state); is {
			c.owners.add(f)
			if err := c.scratch.putFact(f); err != nil {
				return err
			}
		}
	}
	claimed, is := claimOf(key, a.state)
	switch {
	case !is || c.owners.know(claimed.fact):
		return nil
	case c.Archive.HasTips() && c.applied(a.seq):
		if r, err := c.Archive.Newest(ctx, claimed.owner, claimed.fits); err != nil || r == nil {
			return c.faultOf(key, a)("%s%s", claimed.fault, cause(err))
		}
	case !c.Archive.HasTips() && c.Only == "":
		return c.scratch.putClaim(claimed, faultAt(a.stream, key, format.GroupOf(a.seq), a.revision, "%s", claimed.fault))
	}
	return nil
}

// open is a claim whose owner was not found yet.
type open struct {
	shard int // of the owner
	fault Fault
}

// mostOpen bounds the claims whose owners are looked for behind the end of the log.
const mostOpen = 1000

// lateOwners checks the claims that were kept. The ends of the shards may be of different moments,
// so an owner may stand behind the end of its shard.
func (r *run) lateOwners(ctx context.Context) error {
	left := map[fact]open{}
	err := r.scratch.eachClaim(func(f fact, owner string, fault Fault) error {
		if len(left) < mostOpen {
			left[f] = open{domain.Shard(owner, r.Archive.Shards), fault}
			return nil
		}
		return r.report(fault)
	})
	if err != nil {
		return err
	}
	shards := map[int]int{} // number of claims by the owner's shard
	for _, o := range left {
		shards[o.shard]++
	}
	for shard, n := range shards {
		err := r.Archive.Later(ctx, shard, func(g *format.Group) bool {
			for _, e := range g.Frames {
				f, is := factOfEvent(e)
				if _, wanted := left[f]; is && wanted {
					delete(left, f)
					n--
				}
			}
			return n > 0
		})
		if err != nil {
			return err
		}
	}
	faults := slices.SortedFunc(maps.Values(left), func(a, b open) int { return int(a.fault.Sequence) - int(b.fault.Sequence) })
	for _, o := range faults {
		if err := r.report(o.fault); err != nil {
			return err
		}
	}
	return nil
}

func factOfEvent(e *format.Recorded) (fact, bool) {
	kind := cores[e.Aggregate]
	if kind == nil {
		return fact{}, false
	}
	state, err := kind.DecodeState(e)
	if err != nil {
		return fact{}, false
	}
	return factOfState(e.Key, state)
}
