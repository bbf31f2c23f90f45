package childtest

import (
	"os/exec"
	"syscall"
)

// Tied makes the process of a command end with this one, as kill -9 ends it. It returns the
// command.
func Tied(command *exec.Cmd) *exec.Cmd { return tied(command, syscall.SIGKILL) }

// TiedInOrder is Tied with SIGTERM.
func TiedInOrder(command *exec.Cmd) *exec.Cmd { return tied(command, syscall.SIGTERM) }
