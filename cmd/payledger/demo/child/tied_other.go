//go:build !linux

package child

import "syscall"

func tied() *syscall.SysProcAttr { return nil }
