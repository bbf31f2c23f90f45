package notifier

import (
	"context"
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/secrets"
	"payledger/notifier/signature"
)

const (
	secondName = domain.SecretID("signing-secret.acct1.2")
	secondText = "plsec_zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPO"
)

// rotate gives the account its second secret.
func (r *rig) rotate() {
	r.t.Helper()
	r.must(r.vault.Create(context.Background(), secondName, []byte(secondText)))
	r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
		return account.DecideRotateSigningSecret(s, account.RotateSigningSecret{At: m.At, Replaces: s.Signing.Secret, Secret: secondName, Hint: "SRQPO"})
	})
}

// TestDestroyedPrevious: a previous secret that was destroyed before its time signs nothing more, and holds nothing
// up: webhooks go on with the current one alone (§5.2 rule 3, D18).
func TestDestroyedPrevious(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	inbox.secrets = []string{secondText}
	r := newRig(t)
	r.sole = true // as in one process: the account is never behind
	r.start()
	r.endpoint(inbox.url)
	r.rotate()
	r.must(r.vault.Destroy(context.Background(), secretName))
	r.pay(processor.Succeeded)
	if h := inbox.take(1)[0]; len(h.header.Values(signature.HeaderSecondary)) > 0 {
		t.Errorf("came with %v", h.header)
	}
	d := r.until("over", func(d Delivery) bool { return d.Status == Succeeded })
	if keys := d.Attempts[0].Keys; len(keys) != 1 || keys[0] != string(secondName) {
		t.Errorf("signed with %v", keys)
	}
	if err := r.notifier.Healthy(); err != nil {
		t.Error(err)
	}
}

// TestKeyring: the two secrets are named in their order while both are valid; the older one ends with its time, or
// with another rotation; a current secret that is not there is an error.
func TestKeyring(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.start()
	r.must(r.vault.Create(ctx, secondName, []byte(secondText)))
	k, now := newKeyring(r.vault), time.Now()
	rotated := account.SigningSecret{Secret: secondName, Previous: &account.PreviousSecret{Secret: secretName, ValidUntil: now.Add(time.Hour)}}
	for name, c := range map[string]struct {
		signing account.SigningSecret
		at      time.Time
		want    []key
	}{
		"not rotated":   {account.SigningSecret{Secret: secretName}, now, []key{{secretName, secretText}}},
		"rotated":       {rotated, now, []key{{secondName, secondText}, {secretName, secretText}}},
		"at its end":    {rotated, now.Add(time.Hour - 1), []key{{secondName, secondText}, {secretName, secretText}}},
		"its time over": {rotated, now.Add(time.Hour), []key{{secondName, secondText}}},
		"twice": {account.SigningSecret{Secret: secondName, Previous: &account.PreviousSecret{Secret: "signing-secret.acct1.0", ValidUntil: now.Add(time.Hour)}},
			now, []key{{secondName, secondText}}},
	} {
		got, err := k.of(ctx, c.signing, c.at)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %d keys, %v", name, len(got), err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: key %d is %s", name, i, got[i].name)
			}
		}
	}
	if _, err := k.of(ctx, account.SigningSecret{Secret: "signing-secret.acct1.9"}, now); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("a current secret that is not there: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	other := account.SigningSecret{Secret: secretName, Previous: &account.PreviousSecret{Secret: "signing-secret.acct1.7", ValidUntil: now.Add(time.Hour)}}
	if got, err := k.of(ended, other, now); !errors.Is(err, context.Canceled) {
		t.Errorf("a vault that does not answer: %d keys, %v", len(got), err)
	}
	r.must(r.vault.Destroy(ctx, secretName))
	if got, err := k.of(ctx, rotated, now.Add(keyTime)); err != nil || len(got) != 1 {
		t.Errorf("a minute after the previous one was destroyed: %d keys, %v", len(got), err)
	}
}
