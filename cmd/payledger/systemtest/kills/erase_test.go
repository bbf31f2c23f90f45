//go:build system

package kills

import (
	"encoding/json"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// TestEraseCustomerCommand: the command erases at the running service, says so in one line, and
// repeats without harm; every mistake is one line (I1).
func TestEraseCustomerCommand(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fails := func(says string, args ...string) {
		t.Helper()
		status, out, stderr := apptest.Invoke(t, append([]string{"erase-customer", "--data", data}, args...)...)
		if status != 1 || out != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
			t.Errorf("%v: exits %d: %s%s", args, status, out, stderr)
		}
	}
	fails("no service runs on", apptest.HerCustomer)
	p := apptest.ServeProcess(t, "--data", data)
	m := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey)
	id := m.PayAs(t, apptest.HerCustomer)
	if _, body := m.Read(t, id); len(apptest.Shown(string(body))) != len(apptest.HerValues) {
		t.Errorf("the payment shows %v", apptest.Shown(string(body)))
	}
	fails("has no customer \"nobody\"", "nobody")
	fails("the ledger has no account acct", apptest.HerCustomer, "--account", "acct")
	if status, _, stderr := apptest.Invoke(t, "erase-customer", "--data", data); status != 2 || !strings.Contains(stderr, "customer-id") {
		t.Errorf("without a customer: %d %s", status, stderr)
	}
	if status, _, stderr := apptest.Invoke(t, "erase-customer", "--data", data, ""); status != 2 || !strings.Contains(stderr, "customer-id is empty") {
		t.Errorf("with an empty customer: %d %s", status, stderr)
	}
	fails(`has no customer "a\nb"`, "a\nb")
	fails(`has no customer "xxx`, strings.Repeat("x", 5000))
	said := ""
	for _, args := range [][]string{{apptest.HerCustomer}, {apptest.HerCustomer, "--account", string(p.Credentials.AccountID)}} {
		status, out, stderr := apptest.Invoke(t, append([]string{"erase-customer", "--data", data}, args...)...)
		if status != 0 || stderr != "" || !strings.HasPrefix(out, `customer "`+apptest.HerCustomer+`" is erased: `) || said != "" && out != said {
			t.Errorf("%v: exits %d: %s%s", args, status, out, stderr)
		}
		said = out
	}
	if _, body := m.Read(t, id); len(apptest.Shown(string(body))) > 0 {
		t.Errorf("the payment shows %v", apptest.Shown(string(body)))
	}
	p.Stop()
	fails("no service runs on", apptest.HerCustomer)
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", data); status != 0 {
		t.Errorf("verify exits %d: %s%s", status, out, stderr)
	}
	var event struct {
		Type, Actor string
		Event       struct{ CustomerID string }
	}
	status, out, stderr := apptest.Invoke(t, "tail", "--data", data, "--type", "person.erased")
	if err := json.Unmarshal([]byte(out), &event); err != nil || status != 0 || event.Actor != "cli:erase-customer" || event.Event.CustomerID != apptest.HerCustomer {
		t.Errorf("the event, %d %v: %s%s", status, err, out, stderr)
	}
}
