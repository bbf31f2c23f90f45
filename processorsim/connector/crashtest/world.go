package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/processorsim/connector/book"
	"payledger/processorsim/protocol"
)

const (
	ledgerToken = "token-of-the-ledger"
	signing     = "secret-of-notifications"
	limit       = 2 * time.Minute // of every wait
)

// world is a ledger and a connector, and what stands between and behind them.
type world struct {
	t      testing.TB
	ledger string // the program
	mode   mode
	vendor Vendor

	dir, public        string
	apiGate, wireGate  *gate
	wire               *wire
	connector, service *process
	ledgerLog, connLog *Log
	program            Program // the connector's
	front              *front  // to the ledger, for notifications
	wireURL            string

	api, key string // of the ledger
	events   string // of the connector
	orders   int
	resumes  int
	check    string // how the customer's check ended
}

// open starts a connector and a ledger on new folders.
func open(t testing.TB, ledger string, v Vendor, m mode) (*world, error) {
	t.Helper()
	w := &world{t: t, ledger: ledger, mode: m, vendor: v, dir: t.TempDir(), ledgerLog: &Log{}, connLog: &Log{}, front: newFront()}
	w.apiGate = &gate{next: v.API}
	api := httptest.NewServer(w.apiGate)
	w.wire = &wire{front: newFront()}
	w.wireGate = &gate{next: w.wire}
	wire, public := httptest.NewServer(w.wireGate), httptest.NewServer(w.front)
	t.Cleanup(func() {
		for _, s := range []*httptest.Server{api, wire, public} {
			s.CloseClientConnections()
			s.Close()
		}
	})
	w.program, w.wireURL, w.public = v.Connector(api.URL), wire.URL, public.URL
	for _, folder := range []string{w.ledgerDir(), w.bookDir()} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
	}
	return w, errors.Join(w.startConnector(), w.startLedger())
}

func (w *world) ledgerDir() string { return filepath.Join(w.dir, "ledger") }
func (w *world) bookDir() string   { return filepath.Join(w.dir, "book") }

func (w *world) startConnector() error {
	var line struct {
		URL    string `json:"url"`
		Events string `json:"events"`
	}
	env := append(os.Environ(), "PAYLEDGER_PROCESSOR_TOKEN="+ledgerToken, "PAYLEDGER_PROCESSOR_SECRET="+signing)
	p, err := begin(w.t, w.connLog, append(env, w.program.Env...), func(text []byte) bool { return ready(text, &line) },
		w.program.Path, append([]string{"--data", w.bookDir(), "--listen", "127.0.0.1:0"}, w.program.Args...)...)
	if err != nil {
		return err
	}
	w.connector, w.events = p, line.Events
	w.wire.front.set(line.URL)
	return nil
}

func (w *world) startLedger() error {
	var line struct {
		API         string `json:"api"`
		Credentials struct {
			APIKey string `json:"apiKey"`
		} `json:"credentials"`
	}
	name := string(w.vendor.Name) + "="
	p, err := begin(w.t, w.ledgerLog, w.ledgerEnv(), func(text []byte) bool {
		_ = json.Unmarshal(text, &line) // the line before the ready line has the credentials
		return ready(text, &line)
	}, w.ledger, append([]string{
		"serve", "--data", w.ledgerDir(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-level", "warn",
		"--public-url", w.public, "--processor", name + w.wireURL,
	}, w.mode.args...)...)
	if err != nil {
		return err
	}
	if w.service, w.api = p, line.API; line.Credentials.APIKey != "" {
		w.key = line.Credentials.APIKey
	}
	w.front.set(w.api)
	return nil
}

// ledgerEnv is the environment of the ledger's program, without settings of the test's caller.
func (w *world) ledgerEnv() []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PAYLEDGER_") {
			env = append(env, variable)
		}
	}
	name := string(w.vendor.Name) + "="
	return append(env, "PAYLEDGER_PROCESSOR_TOKEN="+name+ledgerToken, "PAYLEDGER_PROCESSOR_SECRET="+name+signing)
}

// strike kills victims.
func (w *world) strike(v Victim) {
	var gone []*process
	if v == TheLedger || v == BothOfThem {
		gone = append(gone, w.service)
	}
	if v == Connector || v == BothOfThem {
		gone = append(gone, w.connector)
	}
	for _, p := range gone {
		p.strike()
	}
	for _, p := range gone {
		<-p.ended
	}
}

// restart starts victims again. Of both, the ledger starts first if early.
func (w *world) restart(v Victim, early bool) error {
	starts := map[Victim][]func() error{
		Nobody: nil, TheLedger: {w.startLedger}, Connector: {w.startConnector}, BothOfThem: {w.startConnector, w.startLedger},
	}[v]
	if v == BothOfThem && early {
		starts[0], starts[1] = starts[1], starts[0]
	}
	for _, start := range starts {
		if err := start(); err != nil {
			return err
		}
	}
	return nil
}

// automatic sets the account to capture authorized payments at once, or not.
func (w *world) automatic(ctx context.Context, is bool) error {
	mode := "MANUAL"
	if is {
		mode = "AUTOMATIC"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPatch, w.api+"/management/settings", strings.NewReader(`{"captureMode":"`+mode+`"}`))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {w.key}, "X-Api-Version": {"2.4"}}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); answer.StatusCode != http.StatusOK {
		return fmt.Errorf("captureMode %s: %d %w", mode, answer.StatusCode, err)
	}
	return nil
}

// command runs a command of the ledger's program, and returns what it prints.
func (w *world) command(args ...string) (string, error) {
	c := exec.CommandContext(w.t.Context(), w.ledger, args...)
	c.Env = append(w.ledgerEnv(), "PAYLEDGER_API_KEY="+w.key)
	text, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", args[0], err, text)
	}
	return string(text), err
}

// reconcile compares the ledger with the connector's books.
func (w *world) reconcile() error {
	text, err := w.command("reconcile", "--json", "--url", w.api, "--processor", string(w.vendor.Name))
	if err != nil {
		return err
	}
	var found struct {
		Differences []json.RawMessage `json:"differences"`
		Compared    struct {
			Payments, Operations, Open, Fresh int
		} `json:"compared"`
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return fmt.Errorf("reconcile: %w: %s", err, text)
	}
	if c := found.Compared; len(found.Differences) > 0 || c.Open > 0 || c.Fresh > 0 || c.Operations == 0 {
		return fmt.Errorf("reconcile: %s", text)
	}
	return nil
}

// close stops the processes and checks what they leave.
func (w *world) close(ctx context.Context) (failed error) {
	failed = errors.Join(w.reconcile(), w.service.stop(), w.connector.stop())
	if _, err := w.command("verify", "--data", w.ledgerDir()); err != nil {
		failed = errors.Join(failed, err)
	}
	for _, word := range []string{"contradicts", "did something", "does not fit"} {
		for name, log := range map[string]*Log{"connector": w.connLog, "ledger": w.ledgerLog} {
			if strings.Contains(log.String(), word) {
				failed = errors.Join(failed, fmt.Errorf("the log of the %s has %q: %s", name, word, log))
			}
		}
	}
	b, err := book.Open(ctx, w.bookDir())
	if err != nil {
		return errors.Join(failed, err)
	}
	doubtful, err := b.Doubtful(ctx, "", time.Time{})
	for _, o := range doubtful {
		err = errors.Join(err, fmt.Errorf("the connector's book has operation %s as %s", o.Key, o.Phase))
	}
	err = errors.Join(err, b.Each(ctx, protocol.Filter{}, func(o *book.Operation) error {
		if o.Open() {
			return fmt.Errorf("the connector's book has operation %s as %s", o.Key, o.Newest().State)
		}
		return nil
	}))
	return errors.Join(failed, err, b.Close())
}
