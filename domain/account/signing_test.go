package account_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/account"
)

// rotate makes secret the current one.
func rotate(t *testing.T, s account.State, secret domain.SecretID, at time.Time) account.State {
	t.Helper()
	e, err := account.DecideRotateSigningSecret(s, account.RotateSigningSecret{
		At: at, Replaces: s.Signing.Secret, Secret: secret, Hint: "of " + string(secret),
	})
	if err != nil {
		t.Fatal(err)
	}
	return account.Evolve(s, e)
}

// TestRotateSigningSecret: the secret before stays valid for 24 hours, or until the next rotation
// (§5.2, D18).
func TestRotateSigningSecret(t *testing.T) {
	s := account.Evolve(account.State{}, created())
	if _, overlaps := s.Signing.Overlap(at); overlaps {
		t.Error("an overlap before the first rotation")
	}
	first := at.Add(time.Hour)
	s = rotate(t, s, "secret-2", first)
	want := account.SigningSecret{Secret: "secret-2", Hint: "of secret-2", CreatedAt: first, Previous: &account.PreviousSecret{
		Secret: "secret-1", Hint: "abcd", ValidUntil: first.Add(24 * time.Hour),
	}}
	if d := cmp.Diff(want, s.Signing); d != "" || s.UpdatedAt != first {
		t.Errorf("at %s: %s", s.UpdatedAt, d)
	}
	for after, valid := range map[time.Duration]bool{0: true, 24*time.Hour - 1: true, 24 * time.Hour: false, 25 * time.Hour: false} {
		if previous, overlaps := s.Signing.Overlap(first.Add(after)); overlaps != valid || valid && previous != *want.Previous {
			t.Errorf("%s after the rotation: %v, %v", after, previous, overlaps)
		}
	}
	second := first.Add(23 * time.Hour)
	next := rotate(t, s, "secret-3", second)
	if previous, _ := next.Signing.Overlap(second); previous.Secret != "secret-2" || previous.ValidUntil != second.Add(24*time.Hour) {
		t.Errorf("after a second rotation: %+v", previous)
	}
	if s.Signing.Secret != "secret-2" || s.Signing.Previous.Secret != "secret-1" {
		t.Error("the state handed out before has changed")
	}
	e, err := account.DecideRotateSigningSecret(next, account.RotateSigningSecret{At: second, Replaces: "secret-2", Secret: "secret-4"})
	if e != nil || domain.ReasonOf(err) != domain.ReasonConcurrentModification {
		t.Errorf("a rotation that another was before: %v, %v", e, err)
	}
}
