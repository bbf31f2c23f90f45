package secrets

import (
	"testing"
	"time"

	"payledger/domain"
)

// TestForgottenWhileRead: the caches refuse a key that the store read before an erasure. No new
// data is sealed under an erased key.
func TestForgottenWhileRead(t *testing.T) {
	t.Parallel()
	const person, other = domain.SecretID("customer-key.a.1"), domain.SecretID("customer-key.a.2")
	v, now := &Store{}, time.Now()
	cached := func(key domain.SecretID, since uint64) bool {
		v.numbers.putUnless(key, 1, now, v.erasure(since, key))
		_, ok := v.numbers.get(key, now)
		return ok
	}
	before := v.Moment()
	if !cached(person, before) {
		t.Error("a number that was not erased is not cached")
	}
	v.Forget(person, 1)
	if _, ok := v.numbers.get(person, now); ok || cached(person, before) {
		t.Error("the number of an erased key is cached")
	}
	if !cached(other, before) || !cached(person, v.Moment()) {
		t.Error("an erasure keeps other numbers out of the cache")
	}
}
