//go:build !linux

package main

import "syscall"

// ownGroup keeps Ctrl-C of the terminal away from a child: the children end in order.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
