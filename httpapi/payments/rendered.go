package payments

import (
	"encoding/json"
	"slices"
	"sync"

	"payledger/domain"
	"payledger/domain/payment"
)

// rendered caches the JSON of payments that were shown lately. An entry is valid for one revision
// of the payment. All entries are dropped when personal data may have been erased. All methods are
// safe for concurrent use; the zero value is an empty cache.
type rendered struct {
	mu           sync.Mutex
	erasures     uint64 // of all entries; see Reader.Erasures
	newer, older map[renderedKey]rendering
	size         int // of newer, in bytes
}

type renderedKey struct {
	account        domain.AccountID
	payment        domain.PaymentID
	events, first6 bool
}

type rendering struct {
	revision uint64
	body     json.RawMessage
}

const renderedBytes = 8 << 20

func (r *rendered) get(key renderedKey, revision, erasures uint64) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.erasures != erasures { // personal data may have been erased since the entries were made
		r.newer, r.older, r.size, r.erasures = nil, nil, 0, erasures
	}
	found, ok := r.newer[key]
	if !ok {
		if found, ok = r.older[key]; ok && found.revision == revision {
			r.keep(key, found)
		}
	}
	if found.revision != revision {
		return nil
	}
	return found.body
}

// put caches a payment's JSON. erasures was read before the personal data was.
func (r *rendered) put(key renderedKey, one rendering, erasures uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.erasures == erasures {
		r.keep(key, one)
	}
}

func (r *rendered) keep(key renderedKey, one rendering) {
	if r.newer == nil || r.size > renderedBytes {
		r.newer, r.older, r.size = map[renderedKey]rendering{}, r.newer, 0
	}
	r.size += len(one.body) + len(key.payment) - len(r.newer[key].body)
	r.newer[key] = one
}

// cacheable reports whether a payment's JSON is the same whenever it is rendered at this revision.
// The token of a required action is signed anew each time, and a request without an outcome is
// shown as timed out to a caller who waited in vain (payment.State.Unanswered).
func cacheable(p payment.State) bool {
	return p.RequiredAction() == nil && !slices.ContainsFunc(p.Operations, func(op payment.Operation) bool { return op.State == payment.StateRequested })
}
