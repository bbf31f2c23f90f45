package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"payledger/eventstore/commands/users"
)

// TestUsersSurvive: users, second factors and sessions are the same after a restart, after a rotation of the master key, and in a restored ledger.
func TestUsersSurvive(t *testing.T) {
	t.Parallel()
	f := newBackupFolders(t)
	app := stoppable(t, f.data)
	made := *app.credentials
	ctx, from := t.Context(), users.Origin{RequestID: "sign-in"}
	m := newMerchant(app.ready().API, made.APIKey)
	var ada struct{ Password string }
	m.must(t, "POST", "/management/users", m.headers(), map[string]any{"email": "ada@shop.example", "role": "auditor"}).decode(t, &ada)

	in, err := app.users.SignIn(ctx, users.SignInInput{Email: "admin", Password: made.DashboardPassword, Origin: from})
	if err != nil {
		t.Fatal(err)
	}
	who, err := app.users.Session(ctx, in.Token)
	if err != nil {
		t.Fatal(err)
	}
	factor, err := app.users.BeginTOTP(ctx, who, made.DashboardPassword, from)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	code := func(at time.Time) string {
		code, err := totp.GenerateCode(factor.Secret, at)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	if in, err = app.users.ConfirmTOTP(ctx, who, code(begun), from); err != nil {
		t.Fatal(err)
	}
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	f.backUp(t)
	if status, out, stderr := f.restore(t); status != 0 {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	key, err := os.ReadFile(filepath.Join(f.data, "master.key")) // of the time of the back-up
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.restored, "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, stderr := invoke(t, "rotate-master-key", "--data", f.data); status != 0 {
		t.Fatalf("the rotation exits %d: %s%s", status, out, stderr)
	}
	for name, data := range map[string]string{"rotated": f.data, "restored": f.restored} {
		app := stoppable(t, data)
		if who, err := app.users.Session(ctx, in.Token); err != nil || who.User.Name != "admin" {
			t.Errorf("%s: the session is %+v, %v", name, who.User, err)
		}
		_, err := app.users.SignIn(ctx, users.SignInInput{Email: "admin", Password: made.DashboardPassword, Code: code(begun), Origin: from})
		if users.ReasonOf(err) != users.CodeWrong {
			t.Errorf("%s: the code again: %v", name, err)
		}
		next := users.SignInInput{Email: "admin", Password: made.DashboardPassword, Code: code(begun.Add(30 * time.Second)), Origin: from}
		if _, err := app.users.SignIn(ctx, next); err != nil {
			t.Errorf("%s: the next code: %v", name, err)
		}
		auditor, err := app.users.SignIn(ctx, users.SignInInput{Email: "ADA@shop.example", Password: ada.Password, Origin: from})
		if err != nil || auditor.User.Role != "auditor" {
			t.Errorf("%s: signed in as %+v, %v", name, auditor.User, err)
		}
		if err := app.Stop(); err != nil {
			t.Error(err)
		}
	}
}
