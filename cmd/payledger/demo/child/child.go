package child

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"payledger/eventstore/commands/accounts"
)

const startPatience = time.Minute

// Program is a program whose commands run as processes.
type Program struct {
	Path string
	Env  []string  // of the processes
	Log  io.Writer // gets the lines of their logs
	Name string    // begins the line on stderr that has the reason of a failure; "": payledger (I1)
}

// Init makes the account of a new data folder.
func (p Program) Init(ctx context.Context, dir string) (made accounts.Credentials, err error) {
	out := &strings.Builder{}
	said := p.stderr()
	command := exec.CommandContext(ctx, p.Path, "init", "--data", dir, "--json") //nolint:gosec // the program is our own
	command.Env, command.Stdout, command.Stderr, command.SysProcAttr = p.Env, out, said, tied()
	runtime.LockOSThread() // on Linux the process ends with the thread that started it
	defer runtime.UnlockOSThread()
	if err = command.Run(); err == nil {
		err = json.Unmarshal([]byte(out.String()), &made)
	}
	if err != nil {
		return made, fmt.Errorf("init: %w", said.reason(err))
	}
	return made, nil
}

// Addresses are the URLs of a service.
type Addresses struct {
	API   string `json:"api"`
	Admin string `json:"admin"`
}

// Service is a running service.
type Service struct {
	Addresses
	*Process
}

// Serve starts the service and returns when it is ready. The end of ctx kills it.
func (p Program) Serve(ctx context.Context, args ...string) (*Service, error) {
	at := Addresses{}
	process, err := p.Start(ctx, "the service", &at, append([]string{"serve"}, args...)...)
	if err != nil {
		return nil, err
	}
	return &Service{Addresses: at, Process: process}, nil
}

// Process is a running process of a program.
type Process struct {
	PID int

	command *exec.Cmd
	said    *lines        // on stderr
	ended   chan struct{} // closed when the process is gone
	err     error         // of its end; to be read after ended
}

// Start starts a command of the program, and returns when it has printed its ready line: a JSON
// object with "ready":true, which is read into ready. what names the process in errors. The end of
// ctx kills it.
func (p Program) Start(ctx context.Context, what string, ready any, args ...string) (*Process, error) {
	s := &Process{said: p.stderr(), ended: make(chan struct{})}
	said := make(chan string, 1)
	s.command = exec.CommandContext(ctx, p.Path, args...) //nolint:gosec // our own program, or the user's choice
	s.command.Env, s.command.Stderr, s.command.SysProcAttr = p.Env, s.said, tied()
	s.command.Stdout = &lines{each: func(line string) {
		var state struct {
			Ready bool `json:"ready"`
		}
		if json.Unmarshal([]byte(line), &state) == nil && state.Ready {
			select {
			case said <- line:
			default: // a second one
			}
		}
	}}
	started := make(chan error)
	go s.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s does not start: %w", what, err)
	}
	s.PID = s.command.Process.Pid
	late := time.NewTimer(startPatience)
	defer late.Stop()
	select {
	case line := <-said:
		if err := json.Unmarshal([]byte(line), ready); err != nil {
			return nil, errors.Join(fmt.Errorf("the ready line of %s cannot be read: %w", what, err), s.Kill())
		}
		return s, nil
	case <-s.ended:
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s does not start: %w", what, s.Reason())
	case <-late.C:
		return nil, errors.Join(fmt.Errorf("%s was not ready within %s", what, startPatience), s.Kill())
	}
}

// run starts the process and waits for its end, on one thread: on Linux the process ends with the
// thread that started it.
func (s *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // a thread that ended would take the children with it that other goroutines started on it before
	err := s.command.Start()
	started <- err
	if err == nil {
		s.err = s.command.Wait()
		close(s.ended)
	}
}

// Ended is closed when the process is gone.
func (s *Process) Ended() <-chan struct{} { return s.ended }

// Reason returns the error of a process that has ended.
func (s *Process) Reason() error { return s.said.reason(s.err) }

// Kill ends the process at once, as kill -9 does, and returns when it is gone.
func (s *Process) Kill() error {
	if err := s.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill: %w", err)
	}
	<-s.ended
	return nil
}

// stderr returns where a process writes its log, and the reason of a failure.
func (p Program) stderr() *lines {
	l := &lines{failed: cmp.Or(p.Name, "payledger") + ": "}
	l.each = func(line string) {
		if !strings.HasPrefix(line, l.failed) {
			fmt.Fprintln(p.Log, line)
		}
	}
	return l
}

type lines struct {
	each   func(string)
	failed string // begins the line with the reason of a failure

	mu   sync.Mutex
	part string // of a line without its end
	last string // line
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part += string(text)
	for {
		line, rest, whole := strings.Cut(l.part, "\n")
		if !whole {
			return len(text), nil
		}
		l.part, l.last = rest, line
		l.each(line)
	}
}

// reason returns the reason that the process wrote last, or the error.
func (l *lines) reason(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text, found := strings.CutPrefix(l.last, l.failed); found {
		return errors.New(text)
	}
	return err
}
