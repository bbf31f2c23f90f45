//go:build unix

package limits

import "syscall"

// PrivateFiles makes each file and folder that the process creates from now on its user's own: mode 0600, and 0700. This includes the files
// of the NATS server and of the databases in the process.
func PrivateFiles() { syscall.Umask(0o077) }
