package childtest

import (
	"os/exec"
	"syscall"
)

func tied(command *exec.Cmd, by syscall.Signal) *exec.Cmd {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = by
	return command
}
