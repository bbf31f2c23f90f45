package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/connector"
)

const killLimit = time.Minute // of every wait

// point is where the process is killed: around a request to Adyen.
type point string

const (
	before   point = "before the request"
	delayed  point = "before the request, which arrives later"
	after    point = "after the request, before its answer"
	answered point = "after the answer"
)

// killer stands before the double, and kills the connector at the next request.
type killer struct {
	d *double

	mu      sync.Mutex
	at      point // "": nowhere
	kill    func()
	killed  chan struct{}
	release chan struct{}
	arrived chan struct{}
}

func (k *killer) arm(at point, kill func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.kill, k.killed, k.release, k.arrived = at, kill, make(chan struct{}), make(chan struct{}), make(chan struct{})
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // all of it is here before the kill
	r.Body = io.NopCloser(bytes.NewReader(body))
	k.mu.Lock()
	at, kill, killed, release, arrived := k.at, k.kill, k.killed, k.release, k.arrived
	k.at = ""
	k.mu.Unlock()
	if at == "" {
		k.d.ServeHTTP(w, r)
		return
	}
	defer close(arrived)
	switch at {
	case before:
		kill()
	case delayed:
		kill()
		close(killed)
		<-release
		k.d.ServeHTTP(httptest.NewRecorder(), r)
		return
	case after:
		k.d.ServeHTTP(httptest.NewRecorder(), r)
		kill()
	case answered:
		k.d.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush()
		kill()
	}
	close(killed)
}

// killWorld is the program between a client of the ledger's and the double.
type killWorld struct {
	t       *testing.T
	program string
	dir     string
	d       *double
	killer  *killer
	adyen   *httptest.Server
	command *exec.Cmd
	url     string
	client  *adapter.Adapter
	log     *syncedLog

	reference domain.PaymentID
	keys      int
}

func newKillWorld(t *testing.T) *killWorld {
	t.Helper()
	w := &killWorld{t: t, dir: t.TempDir(), program: filepath.Join(t.TempDir(), "adyen"), d: newDouble(time.Now), log: &syncedLog{}}
	if said, err := exec.Command("go", "build", "-o", w.program, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	w.killer = &killer{d: w.d}
	w.adyen = httptest.NewServer(w.killer)
	t.Cleanup(w.adyen.Close)
	w.start()
	t.Cleanup(func() { w.kill(); w.client.Close() })
	return w
}

func (w *killWorld) start() {
	w.t.Helper()
	w.command = exec.Command(w.program, "--data", w.dir, "--listen", "127.0.0.1:0", "--api-base", w.adyen.URL+"/v71", "--merchant-account", testAccount)
	w.command.Env = append(os.Environ(), "ADYEN_API_KEY="+testKey, "ADYEN_HMAC_KEY="+hex.EncodeToString(testHMAC),
		"PAYLEDGER_PROCESSOR_TOKEN=token-of-the-ledger", "PAYLEDGER_PROCESSOR_SECRET=secret-of-notifications")
	w.command.Stderr = w.log
	out, err := w.command.StdoutPipe()
	must(w.t, err)
	must(w.t, w.command.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct {
		Ready bool   `json:"ready"`
		URL   string `json:"url"`
	}
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil || !ready.Ready || ready.URL == "" {
		w.t.Fatalf("%s: %v: %s", line, err, w.log)
	}
	w.url = ready.URL
	if w.client != nil {
		w.client.Close()
	}
	w.client, err = adapter.Open(adapter.Connection{URL: w.url, Token: "token-of-the-ledger"})
	must(w.t, err)
}

func (w *killWorld) kill() {
	_ = w.command.Process.Kill()
	_ = w.command.Wait()
}

func (w *killWorld) op(kind processor.Kind, parent string, amount domain.Amount) processor.Operation {
	w.keys++
	o := following(kind, fmt.Sprintf("%s.%d", w.reference, w.keys), parent, amount)
	if kind == processor.Authorize {
		o = authorization(string(o.Key), "4111111111111111")
		o.Amount = amount
	}
	o.Reference = w.reference
	return o
}

// settled does the same as the ledger until an operation has succeeded: it looks the operation up,
// and sends it again under its key if the connector has not seen it, or if its outcome is unknown
// and the card is still there.
func (w *killWorld) settled(op processor.Operation) processor.Answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), killLimit)
	defer cancel()
	for {
		w.d.sendLeft(w.t, w.url+connector.EventsPath)
		l, err := w.client.Lookup(ctx, op.Processor, op.Key)
		switch {
		case err != nil:
			w.t.Fatalf("%s: %v: %s", op.Kind, err, w.log)
		case l.State == processor.Unseen, l.State == processor.Running && op.Kind == processor.Authorize:
			_, _ = w.client.Send(ctx, op) // the look-up tells
		case l.State == processor.Known && l.Answer.State == processor.Succeeded:
			return *l.Answer
		case l.State == processor.Known && l.Answer.State != processor.Pending:
			w.t.Fatalf("%s ends as %+v", op.Kind, l.Answer)
		}
	}
}

// effects returns how many operations of the payment took effect at Adyen.
func (w *killWorld) effects() (n int) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	for reference, times := range w.d.effects {
		if strings.HasPrefix(reference, string(w.reference)+".") {
			if n += times; times != 1 {
				w.t.Errorf("%s took effect %d times", reference, times)
			}
		}
	}
	return n
}

// TestKills kills the program with SIGKILL around the request of each operation to Adyen. No
// operation is lost, none is done twice, and the list of the payment has what Adyen did.
func TestKills(t *testing.T) {
	w := newKillWorld(t)
	kills := 0
	for _, kind := range []processor.Kind{processor.Authorize, processor.Capture, processor.Refund, processor.Void, processor.Adjust} {
		for _, at := range []point{before, delayed, after, answered, answered} {
			kills++
			w.reference, w.keys = domain.PaymentID(fmt.Sprintf("01kill%04d", kills)), 0
			op := w.op(processor.Authorize, "", 1000)
			want := 1
			next := func(kind processor.Kind, amount domain.Amount) {
				_, _ = w.client.Send(t.Context(), op)
				sale := w.settled(op)
				parent := sale.ProcessorTransactionID
				if op.Kind == processor.Capture {
					parent = op.ParentID
				}
				op = w.op(kind, parent, amount)
				want++
			}
			if kind == processor.Refund {
				next(processor.Capture, 1000)
			}
			switch kind {
			case processor.Capture, processor.Refund:
				next(kind, 700)
			case processor.Void:
				next(kind, 1000)
			case processor.Adjust:
				next(kind, 1200)
			}
			w.killer.arm(at, w.kill)
			_, _ = w.client.Send(t.Context(), op) // the answer may have come before the kill
			<-w.killer.killed
			w.start()
			w.settled(op)
			if at == delayed {
				close(w.killer.release)
			}
			<-w.killer.arrived
			w.settled(op)
			if n := w.effects(); n != want {
				t.Errorf("%s, killed %s: %d effects at Adyen, want %d", kind, at, n, want)
			}
			list, err := w.client.ByReference(t.Context(), processor.Adyen, w.reference)
			if err != nil || len(list) != want {
				t.Errorf("%s, killed %s: the list has %d operations, want %d: %v", kind, at, len(list), want, err)
			}
			for _, r := range list {
				if r.State != processor.Succeeded {
					t.Errorf("%s, killed %s: the list has %s as %s", kind, at, r.Kind, r.State)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d kills", kills)
	if text := w.log.String(); strings.Contains(text, "contradicts") || strings.Contains(text, "did something") {
		t.Error(text)
	}
}
