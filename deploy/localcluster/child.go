package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

type child struct {
	cmd   *exec.Cmd
	lines chan []byte   // of its stdout, until it is ready
	ended chan struct{} // closed when the process is gone
	err   error         // of its end; to be read after ended
}

// spawn starts a program. Its stderr goes to the log file, and its stdout line by line to lines.
func spawn(program string, args, env []string, log string) (*child, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := &child{
		cmd:   exec.Command(program, args...), //nolint:noctx,gosec // close ends it, in order; the program is our own
		lines: make(chan []byte, 16), ended: make(chan struct{}),
	}
	c.cmd.Env, c.cmd.Stderr, c.cmd.SysProcAttr = env, file, ownGroup()
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go c.run(out, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return c, nil
}

// run starts the process, hands on the first lines of its output, drops the others, and waits for
// its end, on one thread: Linux kills a child when the thread that started it ends.
func (c *child) run(out io.Reader, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // a thread that ended would take the children with it that other goroutines started on it before
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		select {
		case c.lines <- bytes.Clone(lines.Bytes()):
		default:
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line that is too long ends the scanner
	c.err = c.cmd.Wait()
	close(c.ended)
	close(c.lines) // last: a waiter for the ready line then finds the process ended
}

// errEnded means that a child ended before it was ready.
var errEnded = errors.New("it ended before it was ready")

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

// stop ends the process in order, even if the process is paused. It kills a process that does not
// end in time.
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
