package message

import (
	"context"
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
	"payledger/notifier/sender"
)

// TestKeyring: the two secrets are named in their order while both are valid; the older one ends
// with its time, or with another rotation; a current secret that is not there is an error.
func TestKeyring(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const (
		secretName, secondName = domain.SecretID("signing-secret.acct1.1"), domain.SecretID("signing-secret.acct1.2")
		unread                 = domain.SecretID("signing-secret.acct1.7")
		secretText, secondText = "plsec_0123456789abcdefghijABCDEFGHIJ", "plsec_zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPO"
	)
	vault := eventstoretest.Secrets(t, eventstoretest.Open(t, t.TempDir()))
	if err := errors.Join(vault.Create(ctx, secretName, []byte(secretText)), vault.Create(ctx, secondName, []byte(secondText)), vault.Create(ctx, unread, []byte(secondText))); err != nil {
		t.Fatal(err)
	}
	k, now := newKeyring(vault), time.Now()
	rotated := account.SigningSecret{Secret: secondName, Previous: &account.PreviousSecret{Secret: secretName, ValidUntil: now.Add(time.Hour)}}
	for name, c := range map[string]struct {
		signing account.SigningSecret
		at      time.Time
		want    []sender.Key
	}{
		"not rotated":   {account.SigningSecret{Secret: secretName}, now, []sender.Key{{Name: secretName, Text: secretText}}},
		"rotated":       {rotated, now, []sender.Key{{Name: secondName, Text: secondText}, {Name: secretName, Text: secretText}}},
		"at its end":    {rotated, now.Add(time.Hour - 1), []sender.Key{{Name: secondName, Text: secondText}, {Name: secretName, Text: secretText}}},
		"its time over": {rotated, now.Add(time.Hour), []sender.Key{{Name: secondName, Text: secondText}}},
		"twice": {account.SigningSecret{Secret: secondName, Previous: &account.PreviousSecret{Secret: "signing-secret.acct1.0", ValidUntil: now.Add(time.Hour)}},
			now, []sender.Key{{Name: secondName, Text: secondText}}},
	} {
		got, err := k.current(ctx, c.signing, c.at)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %d keys, %v", name, len(got), err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: key %d is %s", name, i, got[i].Name)
			}
		}
	}
	if _, err := k.current(ctx, account.SigningSecret{Secret: "signing-secret.acct1.9"}, now); !errors.Is(err, secrets.ErrGone) {
		t.Errorf("a current secret that is not there: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	other := account.SigningSecret{Secret: secretName, Previous: &account.PreviousSecret{Secret: unread, ValidUntil: now.Add(time.Hour)}}
	if got, err := k.current(ended, other, now); !errors.Is(err, context.Canceled) {
		t.Errorf("a vault that does not answer: %d keys, %v", len(got), err)
	}
	if err := vault.Destroy(ctx, secretName); err != nil {
		t.Fatal(err)
	}
	if got, err := k.current(ctx, rotated, now.Add(keyTime)); err != nil || len(got) != 1 {
		t.Errorf("a minute after the previous one was destroyed: %d keys, %v", len(got), err)
	}
}
