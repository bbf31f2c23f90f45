package servicetest

import (
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/options"
)

// TestWithoutUsers: nothing of a user or password is left, and everything else is.
func TestWithoutUsers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"https://pay.example/x":           "https://pay.example/x",
		"nats://a:4222,b:4222, c":         "nats://a:4222,b:4222, c",
		"https://me:hidden@pay.example/x": "https://pay.example/x",
		"nats://a:4222, nats://me:hidden@b:4222,c": "nats://a:4222,nats://b:4222",
		"nats://hidden@b:4222":                     "nats://b:4222",
		"me:hidden@b:4222,nats://c":                "nats://c",
		"nats://me:hid%den,den@b,nats://c":         "nats://c",
	} {
		if got := options.WithoutUsers(text); got != want {
			t.Errorf("of %q it leaves %q, not %q", text, got, want)
		}
	}
}

// TestPrintedWithoutPassword: neither the ready line nor an error nor a log shows the password of a
// URL.
func TestPrintedWithoutPassword(t *testing.T) {
	t.Parallel()
	p := apptest.ServeProcess(t, "--processor-url", "http://me:hidden@127.0.0.1:1", "--data", t.TempDir(), "--log-level", "trace")
	if p.Ready.Simulator != "http://127.0.0.1:1" {
		t.Errorf("the ready line shows %s", p.Ready.Simulator)
	}
	p.Stop()
	if strings.Contains(p.Log.String(), "hidden") {
		t.Errorf("the log shows it: %s", p.Log)
	}
	for _, wrong := range []string{"ftp://me:hidden@127.0.0.1:1", "http://me:hidden@127.0.0.1:1/?x=1", "http://me:hid%zzden@127.0.0.1"} {
		status, _, stderr := apptest.Invoke(t, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-level", "error", "--processor-url", wrong)
		if status != command.ExitUsage || !strings.Contains(stderr, "--processor-url must be") || strings.Contains(stderr, "hid") {
			t.Errorf("%s exits %d and says %q", wrong, status, stderr)
		}
	}
}
