package domain_test

import (
	"testing"

	"payledger/domain"
)

// TestTotalRemembersWhatDidNotFit checks that a sum stays invalid after one overflow, even if the
// remaining bits look like an amount: 2^40 pieces at 2^40 are 0 in 64 bits, 2^32 pieces at 2^32,
// too.
func TestTotalRemembersWhatDidNotFit(t *testing.T) {
	for _, bits := range []int{32, 40, 50} {
		large := domain.LineItem{Amount: 1 << bits, Quantity: new(int64(1) << bits)}
		small := domain.LineItem{Amount: 1}
		for name, items := range map[string][]domain.LineItem{
			"alone": {large}, "first": {large, small}, "last": {small, large}, "between": {small, large, small},
		} {
			if got, ok := (&domain.Order{LineItems: items}).Total(); ok {
				t.Errorf("2^%d squared, %s: %d", bits, name, got)
			}
		}
	}
}
