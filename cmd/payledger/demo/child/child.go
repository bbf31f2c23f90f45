package child

import (
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

// Program is the program whose commands run as processes.
type Program struct {
	Path string
	Env  []string  // of the processes
	Log  io.Writer // gets the lines of their logs
}

// Init makes the account of a new data folder.
func (p Program) Init(ctx context.Context, dir string) (made accounts.Credentials, err error) {
	out := &strings.Builder{}
	said := &lines{each: p.log}
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
	PID int

	command *exec.Cmd
	said    *lines        // on stderr
	ended   chan struct{} // closed when the process is gone
	err     error         // of its end; to be read after ended
}

// Serve starts the service and returns when it is ready. The end of ctx kills it.
func (p Program) Serve(ctx context.Context, args ...string) (*Service, error) {
	s := &Service{said: &lines{each: p.log}, ended: make(chan struct{})}
	ready := make(chan Addresses, 1)
	s.command = exec.CommandContext(ctx, p.Path, append([]string{"serve"}, args...)...) //nolint:gosec // the program is our own
	s.command.Env, s.command.Stderr, s.command.SysProcAttr = p.Env, s.said, tied()
	s.command.Stdout = &lines{each: func(line string) {
		var state struct {
			Ready bool `json:"ready"`
			Addresses
		}
		if json.Unmarshal([]byte(line), &state) == nil && state.Ready {
			ready <- state.Addresses
		}
	}}
	started := make(chan error)
	go s.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("the service does not start: %w", err)
	}
	s.PID = s.command.Process.Pid
	late := time.NewTimer(startPatience)
	defer late.Stop()
	select {
	case s.Addresses = <-ready:
		return s, nil
	case <-s.ended:
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the service does not start: %w", s.said.reason(s.err))
	case <-late.C:
		return nil, errors.Join(fmt.Errorf("the service was not ready within %s", startPatience), s.Kill())
	}
}

// run starts the process and waits for its end, on one thread: on Linux the process ends with the
// thread that started it.
func (s *Service) run(started chan<- error) {
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
func (s *Service) Ended() <-chan struct{} { return s.ended }

// Reason returns the error of a process that has ended.
func (s *Service) Reason() error { return s.said.reason(s.err) }

// Kill ends the process at once, as kill -9 does, and returns when it is gone.
func (s *Service) Kill() error {
	if err := s.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill: %w", err)
	}
	<-s.ended
	return nil
}

func (p Program) log(line string) {
	if !strings.HasPrefix(line, failed) {
		fmt.Fprintln(p.Log, line)
	}
}

// failed begins the line on stderr that has the reason of a failure (I1).
const failed = "payledger: "

type lines struct {
	each func(string)

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
	if text, found := strings.CutPrefix(l.last, failed); found {
		return errors.New(text)
	}
	return err
}
