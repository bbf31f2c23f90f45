package servicetest

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/secrets"
)

// TestAddressInUse: an address in use fails the start before anything is written, so that the next
// start still makes the account and shows its credentials.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := filepath.Join(t.TempDir(), "data")
	for _, flag := range []string{"--listen", "--admin-listen", "--sim-listen"} {
		args := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-level", "error"}
		status, out, stderr := apptest.Invoke(t, append(args, flag, taken.Addr().String())...)
		if status != command.ExitFailure || out != "" || !strings.Contains(stderr, flag+": ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s in use: exits %d and says %q %q", flag, status, out, stderr)
		}
		if left, err := os.ReadDir(dir); err == nil {
			t.Errorf("%s in use: the data folder has %v", flag, left)
		}
	}
	if p := apptest.ServeProcess(t, "--data", dir); p.Credentials == nil {
		t.Error("the first start that succeeds shows no credentials")
	}
}

// TestCredentialsOfAFailedStart: credentials are shown when the account is made, even if the start
// fails afterwards.
func TestCredentialsOfAFailedStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ledger.SimulatorFolder), []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := apptest.Invoke(t, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-level", "error")
	var shown struct{ Credentials accounts.Credentials }
	if err := json.Unmarshal([]byte(out), &shown); err != nil || status != command.ExitFailure || shown.Credentials.APIKey == "" {
		t.Errorf("exits %d and says %q %q (%v)", status, out, stderr, err)
	}
}

// TestCredentialsReset: who lost the credentials makes others, from the stopped server's folder or
// at the running service. The new key may do everything, the old one still works, and the password
// is another.
func TestCredentialsReset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := apptest.Initialized(t, dir)
	status, out, stderr := apptest.Invoke(t, "credentials", "reset", "--data", dir, "--json")
	var made accounts.Credentials
	if err := json.Unmarshal([]byte(out), &made); status != 0 || err != nil {
		t.Fatalf("exits %d: %s %v", status, stderr, err)
	}
	if made.AccountID != old.AccountID || made.Environment != old.Environment || made.DashboardUser != old.DashboardUser {
		t.Errorf("made %s in %s for %s", made.AccountID, made.Environment, made.DashboardUser)
	}
	if made.APIKey == old.APIKey || made.SigningSecret == old.SigningSecret || made.DashboardPassword == old.DashboardPassword ||
		made.APIKey == "" || made.SigningSecret == "" || made.DashboardPassword == "" {
		t.Error("the credentials are the old ones, or missing")
	}
	if status, text, _ := apptest.Invoke(t, "credentials", "reset", "--data", dir); status != 0 || !strings.Contains(text, "shown once") || strings.Contains(text, made.APIKey) ||
		!strings.Contains(text, "no longer signed with the secret that ends in "+old.SigningSecret[len(old.SigningSecret)-4:]) {
		t.Errorf("a second reset exits %d and says %q", status, text)
	}
	app := apptest.StartApp(t, apptest.TestOptions(dir))
	for _, key := range []string{old.APIKey, made.APIKey} {
		apptest.NewMerchant(app.Ready().API, key).Must(t, "GET", "/management/signing-secret", apptest.NewMerchant("", key).Headers(), nil)
	}
	user := app.Views.Accounts()[0].Users[0]
	verifier, err := app.Ledger.Secrets.Get(t.Context(), user.Password)
	if err != nil || secrets.CheckPassword(verifier, old.DashboardPassword) || secrets.CheckPassword(verifier, made.DashboardPassword) {
		t.Errorf("a password that was replaced still counts (%v)", err)
	}
	status, out, stderr = apptest.Invoke(t, "credentials", "reset", "--data", dir, "--json")
	var live accounts.Credentials
	if err := json.Unmarshal([]byte(out), &live); status != 0 || err != nil || live.AccountID != old.AccountID || live.SigningSecret == "" {
		t.Fatalf("beside the running service it exits %d: %s %v", status, stderr, err)
	}
	apptest.NewMerchant(app.Ready().API, live.APIKey).Must(t, "GET", "/management/signing-secret", apptest.NewMerchant("", live.APIKey).Headers(), nil)
	if err := app.Views.CaughtUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	user = app.Views.Accounts()[0].Users[0]
	if verifier, err = app.Ledger.Secrets.Get(t.Context(), user.Password); err != nil || !secrets.CheckPassword(verifier, live.DashboardPassword) {
		t.Errorf("the password of the reset beside the running service does not count (%v)", err)
	}
	status, out, stderr = apptest.Invoke(t, "credentials", "reset", "--data", dir, "--account", "nobody")
	if status != command.ExitFailure || out != "" || !strings.Contains(stderr, "has no account nobody") {
		t.Errorf("of an unknown account, beside the running service: exits %d: %s%s", status, out, stderr)
	}
}

// TestCredentialsResetOfNothing: a folder without a ledger is left as it is.
func TestCredentialsResetOfNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	status, _, stderr := apptest.Invoke(t, "credentials", "reset", "--data", dir)
	if _, err := os.Stat(dir); status != command.ExitFailure || !strings.Contains(stderr, "holds no ledger") || err == nil {
		t.Errorf("exits %d and says %q; the folder: %v", status, stderr, err)
	}
}
