package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// erasable is a customer of the tests below; hers are the values that must vanish.
var (
	herCustomer = "customer-zenobia"
	herValues   = []string{"zenobia@example.com", "Zenobia", "Quux", "Palmyra Road", "Odaenathus"}
)

// payAs opens a session with personal data, pays in it and returns the payment's id; customer may be empty.
func (m *merchant) payAs(t *testing.T, customer string) string {
	t.Helper()
	body := map[string]any{
		"orderId": "order-1", "currencyCode": "EUR", "amount": 1000,
		"customer": map[string]any{
			"emailAddress": herValues[0], "firstName": herValues[1], "lastName": herValues[2],
			"billingAddress": map[string]any{"addressLine1": herValues[3], "city": "London", "countryCode": "GB", "postalCode": "W1A 1AA"},
		},
	}
	if customer != "" {
		body["customerId"] = customer
	}
	var opened struct{ ClientToken string }
	m.must(t, "POST", "/client-session", m.headers(), body).decode(t, &opened)
	card := map[string]any{"paymentInstrument": map[string]any{
		"number": "4111111111111111", "cvv": "737", "expirationMonth": "03", "expirationYear": expires, "cardholderName": herValues[4],
	}}
	var made struct{ Token string }
	m.must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": opened.ClientToken}, card).decode(t, &made)
	var paid paymentAnswer
	m.must(t, "POST", "/payments", m.headers(), map[string]any{"paymentMethodToken": made.Token}).decode(t, &paid)
	return paid.ID
}

// shown returns the values of hers that a text has.
func shown(text string) (found []string) {
	for _, value := range herValues {
		if strings.Contains(text, value) {
			found = append(found, value)
		}
	}
	return found
}

// TestEraseCustomerCommand: the command erases at the running service, says so in one line, and repeats without harm; every
// mistake is one line (I1).
func TestEraseCustomerCommand(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fails := func(says string, args ...string) {
		t.Helper()
		status, out, stderr := invoke(t, append([]string{"erase-customer", "--data", data}, args...)...)
		if status != 1 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
			t.Errorf("%v: exits %d: %s%s", args, status, out, stderr)
		}
	}
	fails("no service runs on", herCustomer)
	p := serveProcess(t, "--data", data)
	m := newMerchant(p.ready.API, p.credentials.APIKey)
	id := m.payAs(t, herCustomer)
	if _, body := m.read(t, id); len(shown(string(body))) != len(herValues) {
		t.Errorf("the payment shows %v", shown(string(body)))
	}
	fails("has no customer \"nobody\"", "nobody")
	fails("the ledger has no account acct", herCustomer, "--account", "acct")
	if status, _, stderr := invoke(t, "erase-customer", "--data", data); status != 2 || !strings.Contains(stderr, "customer-id") {
		t.Errorf("without a customer: %d %s", status, stderr)
	}
	if status, _, stderr := invoke(t, "erase-customer", "--data", data, ""); status != 2 || !strings.Contains(stderr, "customer-id is empty") {
		t.Errorf("with an empty customer: %d %s", status, stderr)
	}
	fails(`has no customer "a\nb"`, "a\nb")
	fails(`has no customer "xxx`, strings.Repeat("x", 5000))
	said := ""
	for _, args := range [][]string{{herCustomer}, {herCustomer, "--account", string(p.credentials.AccountID)}} {
		status, out, stderr := invoke(t, append([]string{"erase-customer", "--data", data}, args...)...)
		if status != 0 || stderr != "" || !strings.HasPrefix(out, `customer "`+herCustomer+`" is erased: `) || said != "" && out != said {
			t.Errorf("%v: exits %d: %s%s", args, status, out, stderr)
		}
		said = out
	}
	if _, body := m.read(t, id); len(shown(string(body))) > 0 {
		t.Errorf("the payment shows %v", shown(string(body)))
	}
	p.stop()
	fails("no service runs on", herCustomer)
	if status, out, stderr := invoke(t, "verify", "--data", data); status != 0 {
		t.Errorf("verify exits %d: %s%s", status, out, stderr)
	}
	var event struct {
		Type, Actor string
		Event       struct{ CustomerID string }
	}
	status, out, stderr := invoke(t, "tail", "--data", data, "--type", "person.erased")
	if err := json.Unmarshal([]byte(out), &event); err != nil || status != 0 || event.Actor != "cli:erase-customer" || event.Event.CustomerID != herCustomer {
		t.Errorf("the event, %d %v: %s%s", status, err, out, stderr)
	}
}
