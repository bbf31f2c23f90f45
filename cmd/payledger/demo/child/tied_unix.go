//go:build unix && !linux

package child

import "syscall"

// tied keeps the signals of a terminal away from the process: only Kill and the context end it.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
