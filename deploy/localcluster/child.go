package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// child is a running process of the cluster.
type child struct {
	cmd   *exec.Cmd
	lines chan []byte   // of its stdout, until it is ready
	ended chan struct{} // closed when the process is gone
	err   error         // of its end; to be read after ended
}

// spawner starts processes from one thread, which lives as long as this process: Linux kills the children when the thread that
// started them ends.
type spawner chan func() // what the thread does; it is never closed

func newSpawner() spawner {
	s := make(spawner)
	go func() {
		runtime.LockOSThread()
		for do := range s {
			do()
		}
	}()
	return s
}

// spawn starts a program. Its stderr goes to the log file, and its stdout line by line to lines.
func (s spawner) spawn(program string, args, env []string, log string) (*child, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.Command(program, args...) //nolint:noctx,gosec // close ends it, in order; the program is our own
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = env, file, ownGroup()
	out, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = write
	started := make(chan error)
	s <- func() { started <- cmd.Start() }
	err = <-started
	write.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	c := &child{cmd: cmd, lines: make(chan []byte, 16), ended: make(chan struct{})}
	go c.read(out)
	go func() {
		c.err = cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// read hands on the first lines of the child's output and drops the others.
func (c *child) read(out *os.File) {
	defer out.Close()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		select {
		case c.lines <- append([]byte(nil), lines.Bytes()...):
		default:
		}
	}
	close(c.lines)
}

// errEnded means that a child ended before it was ready.
var errEnded = errors.New("it ended before it was ready")

// awaitReady decodes the child's ready line.
func (c *child) awaitReady(ctx context.Context, into any) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line, more := <-c.lines:
			if !more {
				return errEnded
			}
			var ready struct {
				Ready bool `json:"ready"`
			}
			if json.Unmarshal(line, &ready) == nil && ready.Ready {
				return json.Unmarshal(line, into)
			}
		}
	}
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) running() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

func (c *child) signal(s syscall.Signal) error {
	if !c.running() {
		return os.ErrProcessDone
	}
	return c.cmd.Process.Signal(s)
}

// stop ends the process in order, even if the process is paused. It kills a process that does not end in time.
func (c *child) stop(ctx context.Context) error {
	if c.signal(syscall.SIGCONT) != nil || c.signal(syscall.SIGTERM) != nil {
		<-c.ended
		return nil
	}
	select {
	case <-c.ended:
		return nil
	case <-ctx.Done():
		err := c.signal(syscall.SIGKILL)
		<-c.ended
		return errors.Join(errors.New("it did not end in time and was killed"), err)
	}
}
