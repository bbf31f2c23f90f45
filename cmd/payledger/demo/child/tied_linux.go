package child

import "syscall"

// tied ends the process with this one. The signals of a terminal do not reach it: only Kill and the
// context end it.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
