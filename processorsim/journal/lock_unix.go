//go:build unix

package journal

import (
	"os"
	"syscall"
)

// lock keeps a second process out of the file for as long as it is open; kill -9 releases it.
func lock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
