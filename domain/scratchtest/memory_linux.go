package scratchtest

import "syscall"

// inMemory is the file system in memory that every Linux has.
const inMemory = "/dev/shm"

// free returns the free bytes of a folder's file system, 0 if they cannot be read.
func free(dir string) uint64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}
