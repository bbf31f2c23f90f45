package main

import "syscall"

// ownGroup keeps Ctrl-C of the terminal away from a child, because the children end in order, and
// kills it when this process ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
