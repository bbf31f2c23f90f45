package apptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/childtest"
	"payledger/eventstore/commands/accounts"
)

// StartTimeout bounds a start of the program in tests, recovery included.
const StartTimeout = 3 * time.Minute

// Process is the program running as a child of the test.
type Process struct {
	t           testing.TB
	Command     *exec.Cmd
	Ready       app.Ready
	Credentials *accounts.Credentials
	Log         *strings.Builder
}

// ServeProcess starts `payledger serve` and waits for its ready line.
func ServeProcess(t testing.TB, args ...string) *Process {
	t.Helper()
	return ServeProcessWithin(t, StartTimeout, args...)
}

// ServeProcessWithin is serveProcess with a time limit.
func ServeProcessWithin(t testing.TB, limit time.Duration, args ...string) *Process {
	t.Helper()
	p, err := TryServeProcess(t, limit, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TryServeProcess is ServeProcessWithin that returns the end of the process before it was ready as
// an error.
func TryServeProcess(t testing.TB, limit time.Duration, args ...string) (*Process, error) {
	t.Helper()
	return tryServe(t, os.Args[0], limit, args...)
}

// ServeProgram is ServeProcess with a program that was built apart.
func ServeProgram(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	p, err := tryServe(t, program, StartTimeout, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryServe(t testing.TB, program string, limit time.Duration, args ...string) (*Process, error) {
	t.Helper()
	p := &Process{t: t, Log: &strings.Builder{}}
	p.Command = childtest.Tied(exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...)...))
	if *floodFiles > 0 {
		p.Command = childtest.Tied(exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, *floodFiles)}, p.Command.Args...)...))
	}
	p.Command.Env = append(os.Environ(), AsProgram+"=1")
	p.Command.Stderr = p.Log
	out, err := p.Command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Command.Process.Kill() }) // it may be gone already
	stuck := time.AfterFunc(limit, func() { p.Command.Process.Kill() })
	defer stuck.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line struct {
			Credentials *accounts.Credentials `json:"credentials"`
			app.Ready
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("stdout says %q: %v", lines.Text(), err)
		}
		if line.Credentials != nil {
			p.Credentials = line.Credentials
		}
		if line.Ready.Ready {
			p.Ready = line.Ready
			return p, nil
		}
	}
	return nil, fmt.Errorf("serve ended before it was ready: %w\n%s", p.Command.Wait(), p.Log)
}

// Kill ends the process as a power switch would, as far as a process can be.
func (p *Process) Kill() {
	p.t.Helper()
	if err := p.Command.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.Command.Wait() // it was killed
}

// StopLimit is the longest time of a stop (I1). TestStopWhileUnknown has the sum of its parts.
const StopLimit = 10 * time.Second

// Stop ends the process in order and fails the test when it does not exit 0, with time for a busy
// machine.
func (p *Process) Stop() {
	const limit = time.Minute
	p.t.Helper()
	if err := p.Command.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	stuck := time.AfterFunc(limit, func() { p.Command.Process.Signal(syscall.SIGQUIT) }) // its log gets the goroutines that still run
	defer stuck.Stop()
	if err := p.Command.Wait(); err != nil {
		p.t.Fatalf("serve did not stop in order within %s: %v\n%s", limit, err, p.Log)
	}
}

// The size of the tests that kill a service.
const (
	KillLedgers     = 4  // beside each other
	KillRounds      = 25 // of each
	KillRoundsShort = 3  // of one
	KillConcurrency = 50
	SettleDeadline  = 2 * time.Minute
)

// AwaitOutcome reads a payment until its outcome is known.
func AwaitOutcome(t *testing.T, m *Merchant, id string) PaymentAnswer {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(SettleDeadline); ; <-tick.C {
		p, _ := m.Read(t, id)
		if p.Status != "PENDING" {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("payment %s is PENDING %s after the restart", id, SettleDeadline)
		}
	}
}

// cardConfirmsLater: every capture is pending, its confirmation comes by notification (D13).
const cardConfirmsLater = "4000000000005175"

// StartToStop starts a service that the test stops, and that is stopped with the test at the
// latest.
func StartToStop(t *testing.T, o options.Options) (*app.App, func() error) {
	t.Helper()
	app, err := app.Start(context.Background(), o, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceValue(app.Stop)
	t.Cleanup(func() { _ = stop() }) // the test looks at it, unless it failed before
	return app, stop
}

// PendingCapture makes a payment whose capture waits for its confirmation, and returns the
// capture's key.
func PendingCapture(t *testing.T, m *Merchant, order string) domain.OperationKey {
	t.Helper()
	var p PaymentAnswer
	a, err := m.Pay(m.Token(t, order, 2500, cardConfirmsLater), "key-"+order)
	if err != nil || a.Status != 200 {
		t.Fatal(a.Status, string(a.Body), err)
	}
	a.Decode(t, &p)
	m.Must(t, "POST", "/payments/"+p.ID+"/capture", m.Headers(), nil).Decode(t, &p)
	if p.Status != "SETTLING" {
		t.Fatalf("captured: %+v", p)
	}
	return domain.OperationKey(p.ID + ".3")
}

// GetText returns the body at an address, and fails the test at another status.
func GetText(t *testing.T, url string, status int) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		t.Errorf("%s: %v %d %s", url, err, response.StatusCode, text)
	}
	return string(text)
}

// Until repeats a check until it holds.
func Until(t *testing.T, within time.Duration, what string, holds func() (bool, string)) {
	t.Helper()
	var last string
	for end := time.Now().Add(within); time.Now().Before(end); {
		ok, text := holds()
		if ok {
			return
		}
		last = text
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("not within %s: %s; last: %s", within, what, last)
}

// KilledWhen starts the program with arguments, and kills it with signal 9 as soon as begun returns
// true. The program may have ended before.
func KilledWhen(t *testing.T, begun func() bool, env []string, args ...string) {
	t.Helper()
	command := childtest.Tied(exec.Command(os.Args[0], args...))
	command.Env = append(append(os.Environ(), AsProgram+"=1"), env...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !begun() {
		select {
		case err := <-ended:
			t.Logf("%s ended before the kill: %v", args[0], err)
			return
		case <-deadline:
			_ = command.Process.Kill() // the test fails anyway
			t.Fatalf("%s did not begin", args[0])
		case <-tick.C:
		}
	}
	_ = command.Process.Kill() // it may have ended
	<-ended
}

// There returns a function that reports whether a file exists.
func There(pattern string) func() bool {
	return func() bool {
		found, _ := filepath.Glob(pattern) // the pattern is valid
		return len(found) > 0
	}
}
