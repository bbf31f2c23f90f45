//go:build system

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"payledger/domain/childtest"
)

// running is a local cluster as an operator sees it: the process, its ready line and its messages.
type running struct {
	t        *testing.T
	command  *exec.Cmd
	stdin    io.Writer
	ready    ready
	programs string

	mu   sync.Mutex
	said bytes.Buffer
}

// Write keeps the messages.
func (r *running) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(text)
}

func (r *running) messages() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

// buildLimit bounds a start, which includes the build of the programs.
const buildLimit = 10 * time.Minute

// up runs a command and waits for its ready line.
func up(t *testing.T, program string, args ...string) *running {
	t.Helper()
	r := &running{t: t, command: childtest.TiedInOrder(exec.Command(program, args...))}
	temporary := t.TempDir()
	for _, set := range os.Environ() {
		if !strings.HasPrefix(set, "PAYLEDGER_") && !strings.HasPrefix(set, "TMPDIR=") {
			r.command.Env = append(r.command.Env, set)
		}
	}
	r.command.Env = append(r.command.Env, "TMPDIR="+temporary)
	r.command.Stderr = r
	var err error
	if r.stdin, err = r.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.command.Process.Kill() }) // it may be gone already
	stuck := time.AfterFunc(buildLimit, func() { r.command.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("%s ended: %v\n%s", program, r.command.Wait(), r.messages())
	}
	if err := json.Unmarshal(lines.Bytes(), &r.ready); err != nil || !r.ready.Ready {
		t.Fatalf("the ready line is %q: %v", lines.Text(), err)
	}
	r.programs = temporary
	return r
}

// story plays the demo's story against an API node.
func (r *running) story(payledger string, node int) {
	r.t.Helper()
	command := childtest.Tied(exec.Command(payledger, "demo", "--once", "--url", r.ready.API[node]))
	command.Env = append(os.Environ(), "PAYLEDGER_API_KEY="+r.ready.APIKey, "PAYLEDGER_SIGNING_SECRET="+r.ready.SigningSecret)
	if text, err := command.CombinedOutput(); err != nil || !bytes.Contains(text, []byte("Everything as expected: 31 events of 7 payments.")) {
		r.t.Fatalf("the story at %s: %v\n%s", r.ready.API[node], err, text)
	}
}

// eventually repeats a check until it succeeds.
func (r *running) eventually(what string, check func() error) {
	r.t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			r.t.Fatalf("%s: %v\n%s", what, err, r.messages())
		case <-tick.C:
		}
	}
}

// logStreams is the number of streams of a new log with three shards.
const logStreams = 7

// settled waits until every stream has a leader among the servers.
func (r *running) settled(servers ...string) {
	r.t.Helper()
	r.eventually("streams have leaders", func() error {
		led := map[string]bool{}
		for _, name := range servers {
			var p ports
			var streams jsz
			text, err := os.ReadFile(filepath.Join(r.ready.Data, name, fmt.Sprintf("nats-server_%d.ports", r.ready.PIDs[name])))
			if err == nil {
				err = json.Unmarshal(text, &p)
			}
			if err == nil {
				err = get(r.t.Context(), p.Monitoring[0]+"/jsz?streams=1&acc=LEDGER", &streams)
			}
			if err != nil {
				return err
			}
			for _, a := range streams.Accounts {
				for _, s := range a.Streams {
					led[s.Name] = slices.Contains(servers, s.Cluster.Leader)
				}
			}
		}
		for name, one := range led {
			if !one {
				return fmt.Errorf("%s has no leader", name)
			}
		}
		if len(led) < logStreams {
			return fmt.Errorf("only %d streams are there", len(led))
		}
		return nil
	})
}

// serve waits until the API nodes are ready.
func (r *running) serve(nodes ...int) {
	r.t.Helper()
	for _, node := range nodes {
		r.eventually(r.ready.API[node]+" is ready", func() error { return get(r.t.Context(), r.ready.API[node]+"/readyz", nil) })
	}
}

// processes returns the command lines of the running processes that work on the data folder.
func (r *running) processes() (found []string) {
	r.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range all {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(r.ready.Data)) {
			found = append(found, string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// gone waits until no process of the cluster runs.
func (r *running) gone() {
	r.t.Helper()
	r.eventually("the processes are gone", func() error {
		if left := r.processes(); len(left) > 0 {
			return fmt.Errorf("these run: %q", left)
		}
		return nil
	})
}

// payments returns the number of payments that an API node lists.
func (r *running) payments(node int) int {
	r.t.Helper()
	request, err := http.NewRequest(http.MethodGet, r.ready.API[node]+"/payments?limit=100", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", r.ready.APIKey)
	request.Header.Set("X-Api-Version", "2.4")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	var list struct{ Data []any }
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil || answer.StatusCode != http.StatusOK {
		r.t.Fatalf("the list of payments answers %d: %v", answer.StatusCode, err)
	}
	return len(list.Data)
}

// TestLocalCluster starts a cluster with the one command of RUNBOOK.md, and plays the demo's story
// with all NATS servers, after one was killed, and with an API node that is cut off. SIGTERM leaves
// no process and no file of the programs, and neither does kill -9 leave a process. A second start
// continues the cluster.
func TestLocalCluster(t *testing.T) {
	data, programs := t.TempDir(), t.TempDir()
	r := up(t, "../local-cluster", "--data", data)
	copied(t, r.programs, programs)
	payledger := filepath.Join(programs, "payledger")
	if len(r.ready.API) != 2 || len(r.ready.NATS) != servers || len(r.ready.PIDs) != servers+3 {
		t.Fatalf("the cluster has %+v", r.ready)
	}
	if all := r.processes(); len(all) != servers+4 {
		t.Errorf("these processes run: %q", all)
	}
	r.story(payledger, 0)
	if err := syscall.Kill(r.ready.PIDs["nats-1"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.settled("nats-2", "nats-3")
	r.serve(0, 1)
	r.story(payledger, 1)
	before := r.payments(0)
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := r.command.Wait(); err != nil {
		t.Fatalf("after SIGTERM: %v\n%s", err, r.messages())
	}
	r.gone()
	if left, err := os.ReadDir(r.programs); err != nil || len(left) > 0 {
		t.Errorf("the folder for temporary files has %v, %v", left, err)
	}

	again := up(t, filepath.Join(programs, "localcluster"), "--programs", programs, "--data", data, "--watch")
	if again.ready.APIKey != r.ready.APIKey {
		t.Errorf("the second start made another log")
	}
	again.settled("nats-1", "nats-2", "nats-3")
	again.serve(0, 1)
	if n := again.payments(1); n != before || n == 0 {
		t.Errorf("the second start lists %d payments, the first listed %d", n, before)
	}
	again.faults(payledger)
	if err := again.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	again.command.Wait() // it was killed
	again.gone()
}

// faults enters the commands of --watch.
func (r *running) faults(payledger string) {
	r.t.Helper()
	enter := func(line, expected string) {
		r.t.Helper()
		before := len(r.messages())
		if _, err := io.WriteString(r.stdin, line+"\n"); err != nil {
			r.t.Fatal(err)
		}
		r.eventually(line, func() error {
			if text := r.messages()[before:]; !strings.Contains(text, expected) {
				return fmt.Errorf("it shows %s", text)
			}
			return nil
		})
	}
	enter("cut api-2", "api-2 is cut off")
	enter("pause nats-2", "nats-2 is paused")
	enter("heal nats-2", "nats-2 is healed")
	r.settled("nats-1", "nats-2", "nats-3")
	r.serve(0)
	r.story(payledger, 0)
	enter("kill 5", "api-1 is killed")
	enter("kill 5", "process already finished")
	enter("cut simulator", "pause it instead")
	enter("cut nats-1 simulator", "there is no link")
	enter("slow api-2", "has slow links")
	enter("kill nobody", "there is no node nobody")
	enter("what", "kill N, pause N")
	enter("heal", "every node is healed")
	enter("start api-1", "api-1 runs")
	r.serve(0, 1)
	r.story(payledger, 1)
}

// copied copies the programs that the script built.
func copied(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"localcluster", "payledger", "nats-server"} {
		found, err := filepath.Glob(filepath.Join(from, "*", name))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s was built as %v, %v", name, found, err)
		}
		if err := os.Link(found[0], filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
}
