package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"payledger/eventstore/folder"
)

// TestReadOnly: Lock returns ErrReadOnly for a folder on which this process cannot write, with or
// without a lock file. Share works there, so verify reads the folder.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	with, without := filepath.Join(t.TempDir(), "with"), filepath.Join(t.TempDir(), "without")
	for _, dir := range []string{with, without} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := folder.Lock(with)
	if err == nil {
		err = lock.Unlock()
	}
	if err = errors.Join(err, os.Chmod(folder.LockPath(with), 0o444), os.Chmod(without, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(without, 0o700) })
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Geteuid() == 0 {
		for dir := range map[string]bool{with: true, without: true, filepath.Dir(with): true, filepath.Dir(without): true, filepath.Dir(filepath.Dir(with)): true} {
			if err := os.Chmod(dir, 0o555); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Setfsuid(65534); err != nil { // of this thread: root may write everywhere
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }()
	}
	for _, dir := range []string{with, without} {
		if _, err := folder.Lock(dir); !errors.Is(err, folder.ErrReadOnly) {
			t.Errorf("%s: %v", dir, err)
		}
		if shared, err := folder.Share(dir); err != nil {
			t.Errorf("%s: %v", dir, err)
		} else if shared != nil {
			_ = shared.Unlock()
		}
	}
}
