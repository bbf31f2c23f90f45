//go:build unix

package audit

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOutputIsNoFile: --out replaces no device and no pipe, and waits for none.
func TestOutputIsNoFile(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, link} {
		written := false
		err := saveFile(name, func(io.Writer) error { written = true; return nil }, func(string) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "name a file with --out") || written {
			t.Errorf("a proof in the place of %s: %v", name, err)
		}
		if _, err := (&witness{}).continueIn(name, ""); err == nil || !strings.Contains(err.Error(), "name a file with --out") {
			t.Errorf("checkpoints in the place of %s: %v", name, err)
		}
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is gone: %v", err)
	}
}
