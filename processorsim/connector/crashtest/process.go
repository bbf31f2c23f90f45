package crashtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"payledger/domain/childtest"
)

// process is a running program.
type process struct {
	command *exec.Cmd
	log     *Log
	ended   chan struct{}
}

// Log keeps what a process writes.
type Log struct {
	mu   sync.Mutex
	text []byte
}

// Write adds a text.
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text...)
	return len(text), nil
}

// String returns all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// begin starts a program, and reads its lines on stdout until ready returns true.
func begin(t testing.TB, log *Log, env []string, ready func(line []byte) bool, name string, args ...string) (*process, error) {
	t.Helper()
	p := &process{command: childtest.Tied(exec.Command(name, args...)), log: log, ended: make(chan struct{})}
	p.command.Env, p.command.Stderr = env, log
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(p.kill)
	lines := bufio.NewScanner(out)
	is := false
	for !is && lines.Scan() {
		is = ready(lines.Bytes())
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		_ = p.command.Wait()
		close(p.ended)
	}()
	if !is {
		<-p.ended
		return nil, fmt.Errorf("%s ended before it was ready: %s", name, log)
	}
	return p, nil
}

// kill ends the process at once, as kill -9 does, and waits for its end.
func (p *process) kill() {
	p.strike()
	<-p.ended
}

// strike is kill without the wait.
func (p *process) strike() { _ = p.command.Process.Kill() }

// stop ends the process in order.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-p.ended
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with %d: %s", p.command.Path, code, p.log)
	}
	return nil
}

// ready reads a ready line into a value.
func ready(line []byte, into any) bool {
	var state struct {
		Ready bool `json:"ready"`
	}
	return json.Unmarshal(line, &state) == nil && state.Ready && json.Unmarshal(line, into) == nil
}
