package backup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// lockFile is the file that one run at a time locks, in each folder of a back-up.
const lockFile = "LOCK"

func lock(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, writeError(err)
	}
	l := flock.New(filepath.Join(dir, lockFile))
	held, err := l.TryLock()
	if err != nil {
		return nil, writeError(err)
	}
	if !held {
		return nil, fmt.Errorf("another run of backup writes to %s: wait for its end", dir)
	}
	return l, nil
}

func writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("backup: %w; the back-up before this run is complete: make room, and repeat the command", err)
	default:
		return fmt.Errorf("backup: %w; the back-up before this run is complete", err)
	}
}

func shred(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return writeError(err)
	}
	info, err := f.Stat()
	if err == nil {
		_, err = io.CopyN(f, rand.Reader, info.Size())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Remove(path)
	}
	return writeError(err)
}

func filesIn(dir string, endings ...string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(e.Name(), ending) }) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
