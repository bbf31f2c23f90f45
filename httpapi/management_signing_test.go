package httpapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

const day = 24 * time.Hour

// date reads a date of an answer.
func (a answer) date(t *testing.T, name string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, a.text1(name))
	if err != nil {
		t.Fatalf("%s: %s", err, a.text)
	}
	return at
}

// TestSigningSecret: a rotation shows the new secret once, and the time until which the previous
// one is valid (§5.2, D18, D20).
func TestSigningSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	read := func() answer { return r.want(r.manage("GET", "/signing-secret", ""), 200, "") }
	rotate := func() answer { return r.want(r.manage("POST", "/signing-secret/rotate", ""), 200, "") }
	first := read()
	if !strings.HasSuffix(r.account.SigningSecret, first.text1("hint")) || first.field("previousValidUntil") != nil || first.field("signingSecret") != nil {
		t.Errorf("at first %s", first.text)
	}
	one := rotate()
	if !strings.HasSuffix(one.text1("signingSecret"), one.text1("hint")) || one.text1("signingSecret") == r.account.SigningSecret || one.field("warnings") != nil {
		t.Errorf("rotated: %s", one.text)
	}
	if overlap := one.date(t, "previousValidUntil").Sub(one.date(t, "createdAt")); overlap != day {
		t.Errorf("the previous secret is valid for %s", overlap)
	}
	sameJSON(t, "read after it", read(), `{"hint":"`+one.text1("hint")+`","number":2,"createdAt":"`+one.text1("createdAt")+`","previousValidUntil":"`+one.text1("previousValidUntil")+`"}`)

	r.late.Add(int64(time.Hour / time.Second))
	two := rotate()
	warnings, _ := two.field("warnings").([]any)
	ends := one.date(t, "previousValidUntil").Format(time.RFC3339)
	if len(warnings) != 1 || !strings.Contains(warnings[0].(string), "ends in "+first.text1("hint")) || !strings.Contains(warnings[0].(string), ends) {
		t.Errorf("a second rotation warns %q", warnings)
	}
	r.late.Add(int64(day / time.Second))
	if late := read(); late.field("previousValidUntil") != nil || late.text1("hint") != two.text1("hint") {
		t.Errorf("a day later %s", late.text)
	}
	if three := rotate(); three.field("warnings") != nil {
		t.Errorf("a rotation after the overlap warns: %s", three.text)
	}
	for _, a := range []answer{one, two} {
		if n := strings.Count(r.answers.String(), a.text1("signingSecret")); n != 1 {
			t.Errorf("a secret was answered %d times", n)
		}
	}
}

// TestSigningSecretsKept checks that the vault has both secrets after a rotation, and only the new
// one 24 hours later (§5.2 rule 3).
func TestSigningSecretsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vault := eventstoretest.Secrets(t, r.store)
	state, _ := r.views.Account(r.account.AccountID)
	before := state.Signing.Secret
	rotated := r.want(r.manage("POST", "/signing-secret/rotate", ""), 200, "").text1("signingSecret")
	state, _ = r.views.Account(r.account.AccountID)
	clean := func() {
		t.Helper()
		_, err := vault.CleanSigning(context.Background(), r.now(), r.views.Account)
		must(t, err)
	}
	holds := func(name domain.SecretID, want string) {
		t.Helper()
		if text, err := vault.Get(context.Background(), name); string(text) != want || want == "" && !errors.Is(err, secrets.ErrGone) {
			t.Errorf("%s holds %d bytes, %v", name, len(text), err)
		}
	}
	r.late.Store(int64((day - time.Minute) / time.Second))
	clean()
	holds(before, r.account.SigningSecret)
	holds(state.Signing.Secret, rotated)
	r.late.Store(int64(day / time.Second))
	clean()
	holds(before, "")
	holds(state.Signing.Secret, rotated)
}
