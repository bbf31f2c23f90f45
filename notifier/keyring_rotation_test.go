package notifier

import (
	"context"
	"testing"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/notifier/delivery"
	"payledger/notifier/signature"
)

const (
	secondName = domain.SecretID("signing-secret.acct1.2")
	secondText = "plsec_zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPO"
)

// rotate makes the account's second secret.
func (r *rig) rotate() {
	r.t.Helper()
	r.must(r.vault.Create(context.Background(), secondName, []byte(secondText)))
	r.changeAccount(func(m eventstore.Meta, s account.State) (account.Event, error) {
		return account.DecideRotateSigningSecret(s, account.RotateSigningSecret{At: m.At, Replaces: s.Signing.Secret, Secret: secondName, Hint: "SRQPO"})
	})
}

// TestDestroyedPrevious checks that a previous secret that was destroyed early signs nothing more,
// and that webhooks go on with the current secret alone (§5.2 rule 3, D18).
func TestDestroyedPrevious(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	inbox.secrets = []string{secondText}
	r := newRig(t)
	r.start()
	r.endpoint(inbox.url)
	r.rotate()
	r.must(r.vault.Destroy(context.Background(), secretName))
	r.pay(processor.Succeeded)
	if h := inbox.waitFor(1)[0]; len(h.header.Values(signature.HeaderSecondary)) > 0 {
		t.Errorf("came with %v", h.header)
	}
	d := r.until("over", func(d delivery.Delivery) bool { return d.Status == delivery.Succeeded })
	if keys := d.Attempts[0].Keys; len(keys) != 1 || keys[0] != string(secondName) {
		t.Errorf("signed with %v", keys)
	}
	if err := r.notifier.Healthy(); err != nil {
		t.Error(err)
	}
}
