//go:build !unix

package child

import "syscall"

func tied() *syscall.SysProcAttr { return nil }
