package blocks

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget drops a file from the operating system's cache, but for what is not written yet. A failure
// is harmless: the file is then read from the cache.
func forget(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
