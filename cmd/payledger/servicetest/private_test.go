//go:build unix

package servicetest

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// TestPrivateFiles: files that payledger, its NATS server and its databases write have the mode
// 0600, and folders 0700, for any umask.
func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	data, out := filepath.Join(root, "data"), filepath.Join(root, "out")
	for _, args := range [][]string{
		{"init", "--data", data}, {"export", "--data", data, "--format", "csv", "--out", out}, {"export", "--data", data, "--format", "sqlite", "--out", out + ".sqlite"},
		{"backup", "--data", data, "--out", filepath.Join(root, "backup"), "--keys-out", filepath.Join(root, "keys")},
	} {
		syscall.Umask(0)
		if status, _, stderr := apptest.Invoke(t, args...); status != 0 {
			t.Fatalf("%v exits %d: %s", args, status, stderr)
		}
	}
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %s", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("%d files: %v", files, err)
	}
}
