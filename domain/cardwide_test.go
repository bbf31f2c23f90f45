package domain_test

import (
	"testing"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
)

// TestMayHoldCardNumber: texts that lose their digits, and texts that keep them.
func TestMayHoldCardNumber(t *testing.T) {
	for text, want := range map[string]bool{
		"4111111111111111": true, "card4111111111111111x": true, "0.4111111111111111": true, "4111111111111111.html": true,
		"41 111-111 1111 1111-1": true, "4111 - 1111 - 1111 - 1111": true, "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1": true,
		"4222222222222": true, "9792030394440796": true, "of 17 4111111111111111": true, "４１１１/１１１１/１１１１/１１１１": true,
		"6212345678901234569": true, padded("4", 17): true,
		"": false, "payment 17 of 4111111111111112": false, "411111111111": false, "41111111111111110000": false,
		"4111:1111:1111:1111": false, "2026-11-21T05:30:38.123456Z": false, "123e4567-e89b-12d3-a456-426614174000": false,
	} {
		if got := domain.MayHoldCardNumber(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestMayHoldIsWider: wherever D21 finds a card number, it may be one here.
func TestMayHoldIsWider(t *testing.T) {
	seedtest.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a. ]{0,2}4(111)[ ./-]?1111[ ./-]?1111[ ./-]?1111[b. ]{0,2}`).Draw(t, "text")
		if domain.HoldsCardNumber(text) && !domain.MayHoldCardNumber(text) {
			t.Fatalf("%q", text)
		}
	})
}
