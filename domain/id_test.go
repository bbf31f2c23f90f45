package domain_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payledger/domain"
	"payledger/domain/seedtest"
)

// TestFrozenIDs checks derived ids, which are in logs for ever and must not change. The expected
// values were computed without this code, by the description in D9: SHA-256 of account, kind and
// text, the first 16 bytes.
func TestFrozenIDs(t *testing.T) {
	rows := []struct{ name, got, want string }{
		{"from a key", string(domain.PaymentIDForKey("acct", "key-1")), "01fq5ts9pb3n0r46beah3p4vffp8"},
		{"from another key", string(domain.PaymentIDForKey("acct", "key-2")), "01gk05hm1stv4n73xc83pskeqz9r"},
		{"from the key of another account", string(domain.PaymentIDForKey("other", "key-1")), "0153ebm06gz8akyeas4a825xg548"},
		{"from a token", string(domain.PaymentIDForToken("acct", "key-1")), "0128m8n23fbh7ddak21qvpxyqayg"},
		{"verification", string(domain.VerificationReference("acct", "key-1")), "010bp1tpvpjhxjnqa1ad01w4gn5w"},
		{"hash of a key", domain.KeyHash("acct", "key-1"), "srsj9f8zt1nm9cff"},
		{"from random bytes", string(domain.NewPaymentID([16]byte{0: 1, 15: 255})), "01040000000000000000000000zw"},
		{"token", string(domain.NewToken([16]byte{0: 1, 15: 255})), "01040000000000000000000000zw"},
		{"account", string(domain.NewAccountID([16]byte{0: 1, 15: 255})), "040000000000000000000000zw"},
		{"user", string(domain.NewUserID([16]byte{0: 1, 15: 255})), "040000000000000000000000zw"},
	}
	for _, row := range rows {
		if row.got != row.want {
			t.Errorf("%s: %s, not %s", row.name, row.got, row.want)
		}
	}
}

// TestFrozenShards: the shard of an id is part of the log's format.
func TestFrozenShards(t *testing.T) {
	rows := []struct {
		id     string
		shards int
		want   int
	}{
		{"a", 8, 4}, {"", 8, 5}, {"foobar", 8, 0}, {"foobar", 1, 0}, {"foobar", 1000, 968},
	}
	for _, row := range rows {
		if got := domain.Shard(row.id, row.shards); got != row.want {
			t.Errorf("%q of %d shards is in %d, not %d", row.id, row.shards, got, row.want)
		}
	}
}

// TestPaymentIDs: two characters of log generation and 128 bits in base32, nothing else (D6).
func TestPaymentIDs(t *testing.T) {
	shape := regexp.MustCompile(`^01[0-9a-hjkmnp-tv-z]{26}$`)
	seedtest.Check(t, func(t *rapid.T) {
		var random [16]byte
		copy(random[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "random"))
		account := domain.AccountID(rapid.String().Draw(t, "account"))
		text := rapid.String().Draw(t, "text")
		for _, id := range []domain.PaymentID{
			domain.NewPaymentID(random), domain.PaymentIDForKey(account, text), domain.PaymentIDForToken(account, domain.Token(text)),
		} {
			if !shape.MatchString(string(id)) || !domain.ValidID(string(id)) {
				t.Fatalf("%q is no payment id", id)
			}
		}
		if domain.PaymentIDForKey(account, text) == domain.PaymentIDForToken(account, domain.Token(text)) {
			t.Fatal("a key and a token of the same text give the same payment")
		}
	})
}

// TestValidID checks that the last token of a subject has no character with a meaning for NATS or
// in a path (I2).
func TestValidID(t *testing.T) {
	for _, id := range []string{"a", "Z9", "a-b_c", "123e4567-e89b-12d3-a456-426614174000", strings.Repeat("x", 64)} {
		if !domain.ValidID(id) {
			t.Errorf("%q is refused", id)
		}
	}
	for _, id := range []string{"", "a.b", "a b", "*", ">", "a/b", "é", "a\n", "a\x00", strings.Repeat("x", 65)} {
		if domain.ValidID(id) {
			t.Errorf("%q is taken", id)
		}
	}
}
