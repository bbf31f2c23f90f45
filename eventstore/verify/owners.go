package verify

import (
	"crypto/sha256"
	"sync"

	"payledger/domain"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/eventstore/tiprow"
)

// owners are facts of recent aggregates of all shards that the claims of others rely on. A claim is made near its owner in the
// log, so most claims need no look-up. It has two generations, as cache has. A fact is a digest.
type owners struct {
	mu            sync.Mutex
	recent, older map[fact]struct{}
}

type fact [16]byte

// factsKept is the number of facts of a generation.
const factsKept = 16 << 10

// exists is the fact that a payment exists; named the fact that a token names a payment.
func exists(p format.Key) fact { return factOf(p, "") }

func named(token format.Key, p domain.PaymentID) fact { return factOf(token, p) }

func factOf(key format.Key, p domain.PaymentID) fact {
	sum := sha256.Sum256(append(append(tiprow.Key(key), 0), p...))
	return fact(sum[:len(fact{})])
}

// note keeps the fact of an aggregate, given its newest state.
func (o *owners) note(key format.Key, state any) {
	switch s := state.(type) {
	case payment.State:
		o.add(exists(key))
	case instrument.State:
		if s.UsedBy != "" {
			o.add(named(key, s.UsedBy))
		}
	}
}

func (o *owners) add(f fact) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.recent == nil || len(o.recent) >= factsKept {
		o.older, o.recent = o.recent, make(map[fact]struct{}, factsKept)
	}
	o.recent[f] = struct{}{}
}

func (o *owners) know(f fact) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, is := o.recent[f]; is {
		return true
	}
	_, is := o.older[f]
	return is
}

// paymentKey and tokenKey name the owner of a claim.
func paymentKey(account domain.AccountID, id domain.PaymentID) format.Key {
	return eventstore.Payments.Key(account, string(id))
}

func tokenKey(account domain.AccountID, token domain.Token) format.Key {
	return eventstore.Instruments.Key(account, string(token))
}
