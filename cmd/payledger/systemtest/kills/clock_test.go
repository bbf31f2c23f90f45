//go:build system

package kills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/childtest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

// cutter is a simulator whose answers can be cut off after the operation was committed.
type cutter struct {
	*httputil.ReverseProxy
	url string
	cut atomic.Bool
}

func newCutter(t *testing.T) *cutter {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(sim.Handler())
	target, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{ReverseProxy: httputil.NewSingleHostReverseProxy(target)}
	c.ModifyResponse = func(*http.Response) error {
		if c.cut.Load() {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	front := httptest.NewServer(c)
	c.url = front.URL
	t.Cleanup(func() {
		front.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return c
}

// onceFails receives webhooks. It fails the first attempt of each.
type onceFails struct {
	mu   sync.Mutex
	came map[string]int // attempts, by event
}

func (f *onceFails) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var webhook struct{ EventID string }
	if err := json.NewDecoder(r.Body).Decode(&webhook); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.came[webhook.EventID]++; f.came[webhook.EventID] == 1 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// failed is how many webhooks wait for their second attempt.
func (f *onceFails) failed() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, attempts := range f.came {
		if attempts == 1 {
			n++
		}
	}
	return n
}

// TestClockSetBack: while the clock is a day and more ahead, a webhook fails, a workflow begins to
// wait for its delay, a payment requires a customer's check, and a processor does not answer. Then
// the clock is set back. Each wait ends after its own delay: in the same process, after a restart,
// and after a kill. No operation is done twice (D7, D8, D18, D19).
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	jumps := []time.Duration{25 * time.Hour, 72 * time.Hour}
	if testing.Short() {
		jumps = jumps[:1]
	}
	for _, jump := range jumps {
		for _, between := range []string{"same process", "restart", "kill"} {
			t.Run(fmt.Sprintf("%s %s", jump, between), func(t *testing.T) {
				t.Parallel()
				clockSetBack(t, jump, between)
			})
		}
	}
}

func clockSetBack(t *testing.T, jump time.Duration, between string) {
	clock, sim := &apptest.JumpingClock{}, newCutter(t)
	o := apptest.ClockOptions(t.TempDir(), sim.url)
	made := apptest.Initialized(t, o.Data)
	app, end := startWith(t, o, clock)
	m := apptest.NewMerchant(app.Ready().API, made.APIKey)
	hooks := &onceFails{came: map[string]int{}}
	receiver := httptest.NewServer(hooks)
	t.Cleanup(receiver.Close)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver.URL, "eventTypes": []string{"PAYMENT.STATUS"}})
	flow := m.Workflow(t, apptest.On("AUTHORIZED", `payment.orderId == "order-1111"`, int(apptest.ClockDelay/time.Second), `{"type":"capture"}`))

	clock.Ahead.Store(int64(jump))
	if between == "kill" {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		m.API, end = startAhead(t, o, jump)
	}
	paid := m.Paid(t, apptest.CardApproved)
	challenged := m.Paid(t, apptest.CardChallenged)
	sim.cut.Store(true)
	unknown := m.Paid(t, "5555555555554444")
	if paid.Status != "AUTHORIZED" || challenged.Status != "PENDING" || unknown.Status != "PENDING" {
		t.Fatalf("%+v %+v %+v", paid, challenged, unknown)
	}
	apptest.Until(t, apptest.SettleDeadline, "a failed webhook and one run", func() (bool, string) {
		failed, runs := hooks.failed(), len(m.Runs(t, flow))
		return failed > 0 && runs == 1, fmt.Sprintf("%d failed webhooks, %d runs", failed, runs)
	})

	if between != "same process" {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	clock.Ahead.Store(0)
	if between != "same process" {
		app, _ = startWith(t, o, clock)
		m = apptest.NewMerchant(app.Ready().API, made.APIKey)
	}
	sim.cut.Store(false)
	if p := apptest.AwaitOutcome(t, m, unknown.ID); p.Status != "AUTHORIZED" {
		t.Errorf("the unknown one ended as %+v", p)
	}
	if p := apptest.AwaitOutcome(t, m, challenged.ID); p.Status != "DECLINED" && p.Status != "FAILED" {
		t.Errorf("the abandoned one ended as %+v", p)
	}
	for _, run := range m.Ran(t, flow, 2) { // the other one is of the payment that was unknown
		if want := map[bool]string{true: "SUCCEEDED", false: "SKIPPED"}[run.PaymentID == paid.ID]; run.Status != want {
			t.Errorf("%+v", run)
		}
	}
	apptest.Until(t, apptest.SettleDeadline, "the second attempts of all webhooks", func() (bool, string) {
		failed := hooks.failed()
		return failed == 0, fmt.Sprintf("%d wait for it", failed)
	})
	if p, _ := m.Read(t, paid.ID); p.Status != "SETTLED" {
		t.Errorf("captured: %+v", p)
	}
	for id, want := range map[string]int{paid.ID: 2, unknown.ID: 1} {
		if lines, err := app.Processors.Control().Books(context.Background(), adapter.Filter{Reference: domain.PaymentID(id)}); err != nil || len(lines) != want {
			t.Errorf("the books hold %+v of the payment: %v", lines, err)
		}
	}
}

// startWith starts a service with a clock that can be set.
func startWith(t *testing.T, o options.Options, clock *apptest.JumpingClock) (*app.App, func() error) {
	t.Helper()
	app, err := apptest.StartAt(context.Background(), o, zerolog.Nop(), clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceValue(app.Stop)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return app, stop
}

// startAhead starts a service with a clock that is ahead, in a separate process. end kills it.
func startAhead(t *testing.T, o options.Options, by time.Duration) (api string, end func() error) {
	t.Helper()
	service, err := json.Marshal(apptest.AheadService{Ahead: by, Data: o.Data, Processors: o.ProcessorURL})
	if err != nil {
		t.Fatal(err)
	}
	command := childtest.Tied(exec.Command(os.Args[0]))
	command.Env, command.Stderr = append(os.Environ(), apptest.ClockAhead+"="+string(service)), os.Stderr
	_, err = command.StdinPipe()
	out, outErr := command.StdoutPipe()
	if err := errors.Join(err, outErr, command.Start()); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceValue(func() error {
		err := command.Process.Kill()
		_ = command.Wait() // it says that it was killed
		return err
	})
	t.Cleanup(func() { _ = end() })
	stuck := time.AfterFunc(apptest.StartTimeout, func() { _ = end() })
	defer stuck.Stop()
	var ready app.Ready
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("the service ended, or was not ready within %s: %v", apptest.StartTimeout, err)
	}
	return ready.API, end
}
