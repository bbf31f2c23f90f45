package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// Tips is the folder of the tip store in the folder of an embedded server.
const Tips = "tips"

// lockFile is the file that one server at a time locks.
const lockFile = "LOCK"

// LockPath returns the path of the file that Lock locks.
func LockPath(dir string) string { return filepath.Join(dir, lockFile) }

// ErrInUse means that another process has the data folder open.
var ErrInUse = errors.New("eventstore: the data folder is in use by another process")

// ErrReadOnly means that this process cannot write to the data folder, which a server needs.
var ErrReadOnly = errors.New("eventstore: the data folder is read-only")

// Lock locks a folder for its server; ErrInUse if another process has it open, and ErrReadOnly if
// this process cannot write there.
func Lock(dir string) (*flock.Flock, error) {
	lock := flock.New(LockPath(dir), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	err := locked(dir, lock.TryLock)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		err = fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return lock, err
}

// Share keeps servers from a folder, and changes nothing there. A back-up has no lock file: Share
// then returns nil.
func Share(dir string) (*flock.Flock, error) {
	path := LockPath(dir)
	if _, err := os.Stat(path); err != nil {
		return nil, nil //nolint:nilerror // no server has used the folder
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	return lock, locked(dir, lock.TryRLock)
}

func locked(dir string, try func() (bool, error)) error {
	switch held, err := try(); {
	case err != nil:
		return fmt.Errorf("eventstore: lock %s: %w", dir, err)
	case !held:
		return fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	return nil
}
