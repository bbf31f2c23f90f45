//go:build system

package kills

import (
	"bytes"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secrets"
)

// TestErasedCardToken checks that no byte of the stopped folder, the logs and the answers shows a
// processor's token of a vaulted card, and that an erasure removes the token and destroys its key.
// One token was given by a processor for the card's number, another one came from a processor's
// form. Bytes that were sealed under the key may stay: nothing opens them.
func TestErasedCardToken(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p := apptest.ServeProcess(t, "--data", data, "--log-level", "trace")
	log, key, account := p.Log, p.Credentials.APIKey, p.Credentials.AccountID
	m := apptest.NewMerchant(p.Ready.API, key)
	var answers bytes.Buffer
	must := func(path string, header map[string]string, body map[string]any) (a struct{ ClientToken, Token, CardTokenType string }) {
		t.Helper()
		answer := m.Must(t, "POST", path, header, body)
		answers.Write(answer.Body)
		answer.Decode(t, &a)
		return a
	}
	entered := []map[string]any{
		{"paymentInstrument": map[string]any{"number": "4111111111111111", "cvv": "737", "expirationMonth": "03", "expirationYear": apptest.Expires}},
		{"processorToken": map[string]any{
			"processor": "STRIPE", "token": "tok_form_visa-2_203112", "network": "VISA", "last4Digits": "4242", "expirationMonth": "12", "expirationYear": "2031",
		}},
	}
	var names []domain.SecretID
	for _, card := range entered {
		session := must("/client-session", m.Headers(), map[string]any{"orderId": "order-1", "currencyCode": "EUR", "amount": 1000, "customerId": apptest.HerCustomer})
		token := must("/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, card).Token
		must("/payments", m.Headers(), map[string]any{"paymentMethodToken": token, "paymentMethod": map[string]any{"vaultOnSuccess": true}})
		again := map[string]any{"paymentMethodToken": token, "customerId": apptest.HerCustomer, "orderId": "order-2", "currencyCode": "EUR", "amount": 700}
		if paid := must("/payments", m.Headers(), again); paid.CardTokenType != "PROCESSOR_TOKEN" {
			t.Fatalf("it was paid with %s", paid.CardTokenType)
		}
		names = append(names, domain.SecretID("card-tokens."+string(account)+"."+token))
	}
	p.Stop()
	names = append(names, secrets.PersonalKeyName(account, apptest.HerCustomer, ""))
	kept := keysOf(t, data, names...)
	if len(kept) != 2*len(names) {
		t.Fatalf("the folder has %d of %d secrets", len(kept)/2, len(names))
	}
	plain := func(when string, places map[string][]byte) {
		t.Helper()
		for _, token := range []string{"tok_adyen_", "tok_stripe_", "tok_form_"} { // the simulator derives its tokens, and stores none
			if found := append(holding(places, []byte(token)), holding(places, []byte(hex.EncodeToString([]byte(token))))...); len(found) > 0 {
				t.Errorf("%s %s is in %v", when, token, found)
			}
		}
	}
	places := everyByte(t, data)
	plain("before the erasure", places)
	for name, value := range kept {
		if found := holding(places, value); (len(found) > 0) != strings.HasSuffix(name, ", sealed") {
			t.Errorf("before the erasure %s is in %v", name, found)
		}
	}

	p = apptest.ServeProcess(t, "--data", data, "--log-level", "trace")
	if status, _, stderr := apptest.Invoke(t, "erase-customer", apptest.HerCustomer, "--data", data); status != 0 {
		t.Fatalf("erase-customer exits %d: %s", status, stderr)
	}
	p.Stop()
	places = everyByte(t, data)
	places["the service's log"], places["the answers"] = []byte(log.String()+p.Log.String()), answers.Bytes()
	plain("after it", places)
	for name, value := range kept {
		if strings.HasPrefix(name, "card-tokens.") && strings.HasSuffix(name, ", sealed") {
			continue
		}
		if found := holding(places, value); len(found) > 0 {
			t.Errorf("%s is in %v", name, found)
		}
	}
	if left := keysOf(t, data, names...); len(left) > 0 {
		t.Errorf("%d secrets can be read", len(left)/2)
	}
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", data); status != 0 {
		t.Errorf("verify exits %d: %s%s", status, out, stderr)
	}
}
