package secrets_test

import (
	"crypto/rand"
	"testing"

	"payledger/eventstore/secrets"
)

// TestPassword: a verifier matches only its own password, and a guess has the cost that RFC 9106
// recommends.
func TestPassword(t *testing.T) {
	t.Parallel()
	if secrets.PasswordMemory != 64<<10 {
		t.Errorf("a guess takes %d KiB", secrets.PasswordMemory)
	}
	verifier, err := secrets.NewPassword(rand.Reader, "correct horse")
	if err != nil || !secrets.CheckPassword(verifier, "correct horse") || secrets.CheckPassword(verifier, "correct Horse") {
		t.Errorf("%s does not distinguish its password from another (%v)", verifier, err)
	}
	for _, malformed := range []string{"", "argon2id$00", "argon2id$zz$00", "argon2i" + string(verifier[8:])} {
		if secrets.CheckPassword([]byte(malformed), "correct horse") {
			t.Errorf("%q matches a password", malformed)
		}
	}
}
