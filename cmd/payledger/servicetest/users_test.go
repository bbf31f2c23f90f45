package servicetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/commands/users"
)

// TestUsersSurvive: users, second factors and sessions are the same after a restart, after a
// rotation of the master key, and in a restored ledger.
func TestUsersSurvive(t *testing.T) {
	t.Parallel()
	f := apptest.NewBackupFolders(t)
	app := apptest.Stoppable(t, f.Data)
	made := *app.Credentials
	ctx, from := t.Context(), users.Origin{RequestID: "sign-in"}
	m := apptest.NewMerchant(app.Ready().API, made.APIKey)
	var ada struct{ Password string }
	m.Must(t, "POST", "/management/users", m.Headers(), map[string]any{"email": "ada@shop.example", "role": "auditor"}).Decode(t, &ada)

	in, err := app.Users.SignIn(ctx, users.SignInInput{Email: "admin", Password: made.DashboardPassword, Origin: from})
	if err != nil {
		t.Fatal(err)
	}
	who, err := app.Users.Session(ctx, in.Token)
	if err != nil {
		t.Fatal(err)
	}
	factor, err := app.Users.BeginTOTP(ctx, who, made.DashboardPassword, from)
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
	if in, err = app.Users.ConfirmTOTP(ctx, who, code(begun), from); err != nil {
		t.Fatal(err)
	}
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	f.BackUp(t)
	if status, out, stderr := f.Restore(t); status != 0 {
		t.Fatalf("restore exits %d: %s%s", status, out, stderr)
	}
	key, err := os.ReadFile(filepath.Join(f.Data, "master.key")) // of the time of the back-up
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Restored, "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, stderr := apptest.Invoke(t, "rotate-master-key", "--data", f.Data); status != 0 {
		t.Fatalf("the rotation exits %d: %s%s", status, out, stderr)
	}
	for name, data := range map[string]string{"rotated": f.Data, "restored": f.Restored} {
		app := apptest.Stoppable(t, data)
		if who, err := app.Users.Session(ctx, in.Token); err != nil || who.User.Name != "admin" {
			t.Errorf("%s: the session is %+v, %v", name, who.User, err)
		}
		_, err := app.Users.SignIn(ctx, users.SignInInput{Email: "admin", Password: made.DashboardPassword, Code: code(begun), Origin: from})
		if users.ReasonOf(err) != users.CodeWrong {
			t.Errorf("%s: the code again: %v", name, err)
		}
		next := users.SignInInput{Email: "admin", Password: made.DashboardPassword, Code: code(begun.Add(30 * time.Second)), Origin: from}
		if _, err := app.Users.SignIn(ctx, next); err != nil {
			t.Errorf("%s: the next code: %v", name, err)
		}
		auditor, err := app.Users.SignIn(ctx, users.SignInInput{Email: "ADA@shop.example", Password: ada.Password, Origin: from})
		if err != nil || auditor.User.Role != "auditor" {
			t.Errorf("%s: signed in as %+v, %v", name, auditor.User, err)
		}
		if err := app.Stop(); err != nil {
			t.Error(err)
		}
	}
}
