package verify

import (
	"crypto/sha256"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/eventstore/cache"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
)

// owners are facts of recent aggregates of all shards that the claims of others rely on. A claim is
// made near its owner in the log, so most claims need no look-up. A fact is a digest.
type owners struct{ *cache.Cache[fact, struct{}] }

type fact [16]byte

const factsKept = 32 << 10

// exists is the fact that a payment exists; named the fact that a token names a payment.
func exists(p format.Key) fact { return factOf(p, "") }

func named(token format.Key, p domain.PaymentID) fact { return factOf(token, p) }

func factOf(key format.Key, p domain.PaymentID) fact {
	sum := sha256.Sum256(append(append(tiprow.Key(key), 0), p...))
	return fact(sum[:len(fact{})])
}

// note keeps the fact of an aggregate, given its newest state.
func (o owners) note(key format.Key, state any) {
	if f, is := factOfState(key, state); is {
		o.add(f)
	}
}

// factOfState returns the fact of an aggregate that claims may rely on.
func factOfState(key format.Key, state any) (fact, bool) {
	switch s := state.(type) {
	case payment.State:
		return exists(key), true
	case instrument.State:
		return named(key, s.UsedBy), s.UsedBy != ""
	}
	return fact{}, false
}

func (o owners) add(f fact) { o.Put(f, struct{}{}) }

func (o owners) know(f fact) bool {
	_, is := o.Get(f)
	return is
}
