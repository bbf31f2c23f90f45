//go:build system

package kills

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
)

// TestReadOnlyMount runs the commands on the folder of a killed service, on a read-only mount such
// as an auditor's snapshot. Verify and backup read it. The other commands say at once in one line
// that they need a copy, and reconcile says it once for all processors.
func TestReadOnlyMount(t *testing.T) {
	t.Parallel()
	data, at, out := t.TempDir(), t.TempDir(), t.TempDir()
	p := apptest.ServeProcess(t, "--data", data)
	id := apptest.NewMerchant(p.Ready.API, p.Credentials.APIKey).Paid(t, apptest.CardApproved).ID
	p.Kill()
	for _, flags := range []uintptr{unix.MS_BIND, unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY} {
		if err := unix.Mount(data, at, "", flags, ""); err != nil {
			t.Fatalf("the folder cannot be mounted: %v; run it as root", err)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, args := range [][]string{
		{"verify"}, {"verify", "--all"}, {"verify", "--payment", id}, {"backup", "--out", filepath.Join(out, "backup"), "--keys-out", filepath.Join(out, "keys")},
	} {
		if status, _, stderr := apptest.Invoke(t, append(args, "--data", at)...); status != 0 {
			t.Errorf("%v exits %d: %s", args, status, stderr)
		}
	}
	for _, args := range [][]string{
		{"history", id}, {"history", id, "--full"}, {"export", "--format", "jsonl"}, {"export", "--format", "csv", "--out", filepath.Join(out, "export")}, {"tail"},
		{"prove", id, "--out", filepath.Join(out, "proof")}, {"checkpoints"}, {"reconcile"}, {"reconcile", "--json"}, {"reconcile", "--processor", "ADYEN"},
		{"rebuild"}, {"account", "list"}, {"credentials", "reset"},
	} {
		want := command.ExitFailure
		if args[0] == "reconcile" {
			want = command.ExitUsage
		}
		status, printed, stderr := apptest.Invoke(t, append(args, "--data", at)...)
		if status != want || printed != "" || strings.Count(stderr, "\n") != 1 || strings.Count(stderr, "is read-only") != 1 || !strings.Contains(stderr, "cp -a") {
			t.Errorf("%v exits %d: %q, %q", args, status, printed, stderr)
		}
	}
}
