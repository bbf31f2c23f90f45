//go:build unix

package limits

import (
	"io/fs"
	"syscall"
)

// PrivateFiles makes each file and folder that the process creates from now on its user's own: mode
// 0600, and 0700. This includes the files of the NATS server and of the databases in the process.
func PrivateFiles() { syscall.Umask(0o077) }

// Owner returns the user that owns a file, or -1 if it is unknown.
func Owner(info fs.FileInfo) int {
	if of, known := info.Sys().(*syscall.Stat_t); known {
		return int(of.Uid)
	}
	return -1
}
