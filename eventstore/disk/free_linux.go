package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace returns the bytes that this process may still write below dir.
func freeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	return s.Bavail * uint64(s.Bsize), err
}

func reserve(f *os.File, n int64) error { return unix.Fallocate(int(f.Fd()), 0, 0, n) }
