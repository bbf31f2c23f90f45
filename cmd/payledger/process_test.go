package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/commands/accounts"
)

// startTimeout bounds a start of the program in tests, recovery included.
const startTimeout = 3 * time.Minute

// process is the program running as a child of the test.
type process struct {
	t           testing.TB
	command     *exec.Cmd
	ready       Ready
	credentials *accounts.Credentials
	log         *strings.Builder
}

// serveProcess starts `payledger serve` and waits for its ready line.
func serveProcess(t testing.TB, args ...string) *process {
	t.Helper()
	return serveProcessWithin(t, startTimeout, args...)
}

// serveProcessWithin is serveProcess with a time limit.
func serveProcessWithin(t testing.TB, limit time.Duration, args ...string) *process {
	t.Helper()
	p := &process{t: t, log: &strings.Builder{}}
	p.command = exec.Command(os.Args[0], append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...)...)
	if *floodFiles > 0 {
		p.command = exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, *floodFiles)}, p.command.Args...)...)
	}
	p.command.Env = append(os.Environ(), asProgram+"=1")
	p.command.Stderr = p.log
	out, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.command.Process.Kill() }) // it may be gone already
	stuck := time.AfterFunc(limit, func() { p.command.Process.Kill() })
	defer stuck.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line struct {
			Credentials *accounts.Credentials `json:"credentials"`
			Ready
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("stdout says %q: %v", lines.Text(), err)
		}
		if line.Credentials != nil {
			p.credentials = line.Credentials
		}
		if line.Ready.Ready {
			p.ready = line.Ready
			return p
		}
	}
	t.Fatalf("serve ended before it was ready: %v\n%s", p.command.Wait(), p.log)
	return nil
}

// kill ends the process as a power switch would, as far as a process can be.
func (p *process) kill() {
	p.t.Helper()
	if err := p.command.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.command.Wait() // it was killed
}

// stopLimit is the longest time of a stop (I1). TestStopWhileUnknown has the sum of its parts.
const stopLimit = 10 * time.Second

// stop ends the process in order and fails the test when it does not exit 0, with time for a busy machine.
func (p *process) stop() {
	const limit = time.Minute
	p.t.Helper()
	start := time.Now()
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	if err := p.command.Wait(); err != nil {
		p.t.Fatalf("serve did not stop in order: %v\n%s", err, p.log)
	}
	if took := time.Since(start); took > limit {
		p.t.Fatalf("serve took %s to stop; %s are allowed", took, limit)
	}
}
