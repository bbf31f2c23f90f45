package commands_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/secrets"
)

// signing is the account's signing secret.
func (r *rig) signing() account.SigningSecret {
	r.T.Helper()
	state, known := r.Merchant(r.By.Account)
	if !known {
		r.T.Fatal("the account is not there")
	}
	return state.Signing
}

func (r *rig) rotate(s *service.Service) accounts.RotatedSecret {
	r.T.Helper()
	rotated, err := s.RotateSigningSecret(context.Background(), r.By)
	if err != nil {
		r.T.Fatal(err)
	}
	return rotated
}

// clean runs the cleaner at a later time, and returns the number of destroyed secrets.
func (r *rig) clean(later time.Duration) int {
	r.T.Helper()
	n, err := r.Vault.CleanSigning(context.Background(), r.Now().Add(later), r.Merchant)
	if err != nil {
		r.T.Fatal(err)
	}
	return n
}

// holds compares the numbers of the account's signing secrets in the vault, up to 9.
func (r *rig) holds(when string, want ...uint64) {
	r.T.Helper()
	var numbers []uint64
	for n := uint64(1); n < 10; n++ {
		_, err := r.Vault.Get(context.Background(), secrets.SigningSecretName(r.By.Account, n))
		if err == nil {
			numbers = append(numbers, n)
		} else if !errors.Is(err, secrets.ErrGone) {
			r.T.Fatal(err)
		}
	}
	if !slices.Equal(numbers, want) {
		r.T.Errorf("%s: the vault holds the secrets %v, want %v", when, numbers, want)
	}
}

// text opens a signing secret.
func (r *rig) text(name domain.SecretID) string {
	r.T.Helper()
	text, err := r.Vault.Get(context.Background(), name)
	if err != nil {
		r.T.Fatal(err)
	}
	return string(text)
}

// TestRotation: both secrets are in the vault for 24 hours, then only the new one; a second
// rotation ends the older overlap at once (§5.2 rule 3, D18).
func TestRotation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	first := r.signing()
	firstText := r.text(first.Secret)
	rotated := r.rotate(s)
	now := r.signing()
	previous, overlaps := now.Overlap(r.Now())
	if !overlaps || previous.Secret != first.Secret || previous.Hint != first.Hint || previous.ValidUntil != now.CreatedAt.Add(24*time.Hour) {
		t.Errorf("the previous secret is %+v, %v", previous, overlaps)
	}
	if r.text(now.Secret) != rotated.Text || r.text(previous.Secret) != firstText || rotated.Text == firstText || rotated.Ended != nil {
		t.Error("the vault does not hold what was shown")
	}
	if !strings.HasPrefix(rotated.Text, "plsec_") || len(rotated.Text) != len(firstText) || !strings.HasSuffix(rotated.Text, now.Hint) || len(now.Hint) != 4 {
		t.Errorf("a secret of %d characters with the hint %q", len(rotated.Text), now.Hint)
	}
	for range 2 {
		if n := r.clean(24*time.Hour - time.Minute); n != 0 {
			t.Errorf("%d destroyed within the overlap", n)
		}
	}
	r.holds("within the overlap", 1, 2)

	again := r.rotate(s)
	if again.Ended == nil || *again.Ended != previous {
		t.Errorf("a second rotation has ended %+v", again.Ended)
	}
	if n := r.clean(0); n != 1 {
		t.Errorf("%d destroyed after the second rotation", n)
	}
	r.holds("after the second rotation", 2, 3)
	if n := r.clean(24 * time.Hour); n != 1 {
		t.Errorf("%d destroyed after the overlap", n)
	}
	r.holds("after the overlap", 3)
	if n := r.clean(1e5 * time.Hour); n != 0 {
		t.Errorf("%d more destroyed", n)
	}
	r.holds("long after", 3)
	r.Ahead.Store(int64(25 * time.Hour))
	if late := r.rotate(s); late.Ended != nil {
		t.Errorf("a rotation after the overlap has ended %+v", late.Ended)
	}
}

// TestRotationCutShort: a secret that a crash left before its event signs nothing, is no obstacle
// to the next rotation, and goes when that is done; the cleaner leaves it alone until then, as it
// may be a rotation under way.
func TestRotationCutShort(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	for n := uint64(2); n <= 3; n++ {
		if err := r.Vault.Create(context.Background(), secrets.SigningSecretName(r.By.Account, n), []byte("plsec_left")); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.clean(1e5 * time.Hour); n != 0 {
		t.Errorf("%d destroyed of a rotation under way", n)
	}
	rotated := r.rotate(s)
	if r.text(rotated.Signing.Secret) != rotated.Text || rotated.Text == "plsec_left" {
		t.Error("the secret that was left is in use")
	}
	r.clean(0)
	r.holds("after the next rotation", 1, 4)

	// The cleaner is cut short between two secrets, and runs on an account as it was before: it
	// makes good the one and takes nothing away for the other.
	stale, _ := r.Merchant(r.By.Account)
	r.rotate(s)
	if _, err := r.Vault.CleanSigning(context.Background(), r.Now(), func(domain.AccountID) (account.State, bool) { return stale, true }); err != nil {
		t.Fatal(err)
	}
	r.holds("after a run on an older state", 1, 4, 5)
	r.clean(0)
	r.holds("after a run on the newest", 4, 5)
}

// TestRotationsAtOnce checks, for rotations in any order, that the vault has the current secret and
// the one before it, and that every successful answer was recorded.
func TestRotationsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.Service(nil)
	const many = 8
	shown, refused := make([]accounts.RotatedSecret, many), make([]error, many)
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() { shown[i], refused[i] = s.RotateSigningSecret(context.Background(), r.By) })
	}
	for range 20 {
		r.clean(0)
	}
	group.Wait()
	now := r.signing()
	done := 0
	for i, err := range refused {
		switch {
		case err == nil:
			done++
			if shown[i].Signing.Secret == now.Secret && r.text(now.Secret) != shown[i].Text {
				t.Error("the current secret is not the one that was shown")
			}
		case domain.ReasonOf(err) != domain.ReasonConcurrentModification:
			t.Error(err)
		}
	}
	state, _ := r.Merchant(r.By.Account)
	if done == 0 || state.Revision != uint64(1+done) {
		t.Errorf("%d answered, %d events", done, state.Revision)
	}
	r.clean(0)
	if r.text(now.Secret) == "" || r.text(now.Previous.Secret) == "" {
		t.Error("an empty secret")
	}
}
