package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"payledger/processorsim/connector/program"
)

const (
	apiKey        = "sk_test_Abcdefgh1234567890"
	webhookSecret = "whsec_of_the_double"
	ledgerToken   = "token-of-the-ledger"
	secret        = "n0tification-s3cret"
	limit         = time.Minute // of every wait
)

// built returns the connector's program, and builtLedger the ledger's. Each is built once.
var (
	built       = sync.OnceValues(func() (string, error) { return build("stripe", ".", ".") })
	builtLedger = sync.OnceValues(func() (string, error) { return build("payledger", "../../..", "./cmd/payledger") })
)

// folders are those of the built programs.
var folders struct {
	sync.Mutex
	list []string
}

// build builds a program of a module, given by its folder, into a folder that TestMain removes.
func build(name, module, folder string) (string, error) {
	dir, err := os.MkdirTemp("", "stripe")
	if err != nil {
		return "", err
	}
	folders.Lock()
	folders.list = append(folders.list, dir)
	folders.Unlock()
	program := filepath.Join(dir, name)
	if text, err := exec.Command("go", "build", "-C", module, "-o", program, folder).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return program, nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range folders.list {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// process is a running connector.
type process struct {
	program.Ready
	command *exec.Cmd
	stderr  *lockedBuffer
	ended   chan struct{}
}

type lockedBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// start runs the program on a folder, and waits for its ready line.
func start(t *testing.T, dir, stripe string, more ...string) *process {
	t.Helper()
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{stderr: &lockedBuffer{}, ended: make(chan struct{})}
	p.command = exec.Command(file, append([]string{"--data", dir, "--listen", "127.0.0.1:0", "--api-base", stripe, "--multicapture"}, more...)...)
	p.command.Env = append(os.Environ(), "STRIPE_API_KEY="+apiKey, "STRIPE_WEBHOOK_SECRET="+webhookSecret,
		"PAYLEDGER_PROCESSOR_TOKEN="+ledgerToken, "PAYLEDGER_PROCESSOR_SECRET="+secret)
	p.command.Stderr = p.stderr
	out, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	go func() {
		_, _ = io.Copy(io.Discard, out)
		_ = p.command.Wait()
		close(p.ended)
	}()
	if err == nil {
		err = json.Unmarshal(line, &p.Ready)
	}
	if err != nil || !p.Ready.Ready || p.PID != p.command.Process.Pid {
		t.Fatalf("%s: %v: %s", line, err, p.stderr)
	}
	return p
}

// kill ends the process at once, and waits for its end.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// point is where a process is killed: around a request to Stripe.
type point string

const (
	never    point = ""
	before   point = "before"   // the request came, and is not carried out
	late     point = "late"     // the request is carried out when somebody has asked for its outcome
	after    point = "after"    // it is carried out, and not answered
	answered point = "answered" // it is answered
)

// killer stands before the double and kills the connector at one request.
type killer struct {
	next http.Handler

	mu      sync.Mutex
	path    string // of the request
	point   point
	delay   time.Duration // of the kill after an answer
	kill    func()
	killed  chan struct{}
	release chan struct{}
	arrived chan struct{}
}

func (k *killer) arm(path string, p point, delay time.Duration, kill func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.path, k.point, k.delay, k.kill = path, p, delay, kill
	k.killed, k.release, k.arrived = make(chan struct{}), make(chan struct{}), make(chan struct{})
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	at, delay, kill, killed, release, arrived := k.point, k.delay, k.kill, k.killed, k.release, k.arrived
	matches := at != never && matched(k.path, r)
	if matches {
		k.point = never
	}
	k.mu.Unlock()
	if !matches {
		k.next.ServeHTTP(w, r)
		return
	}
	_ = r.ParseForm() // the whole body is here before the kill
	switch at {
	case before:
		kill()
		close(killed)
		close(arrived)
	case late:
		kill()
		close(killed)
		<-release
		k.next.ServeHTTP(nowhere{http.Header{}}, r)
		close(arrived)
	case after:
		k.next.ServeHTTP(nowhere{http.Header{}}, r)
		kill()
		close(killed)
		close(arrived)
	case answered:
		whole := httptest.NewRecorder()
		k.next.ServeHTTP(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes())
		_ = http.NewResponseController(w).Flush()
		timer := time.NewTimer(delay)
		<-timer.C
		kill()
		close(killed)
		close(arrived)
	}
}

func matched(path string, r *http.Request) bool {
	ok, _ := filepath.Match(path, r.Method+" "+r.URL.Path)
	return ok
}

// nowhere is an answer that nobody reads.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}
