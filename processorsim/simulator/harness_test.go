package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"payledger/domain"
	"payledger/domain/processor"
	_ "payledger/domain/scratchtest"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
	"payledger/processorsim/protocol/openapitest"
	"payledger/processorsim/simulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	secret = []byte("notification-secret")
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// clock is the injected clock: timers fire in Advance, one after the other, in order of their
// times.
type clock struct {
	mu     sync.Mutex
	change *sync.Cond
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	f  func()
}

func newClock(now time.Time) *clock {
	c := &clock{now: now}
	c.change = sync.NewCond(&c.mu)
	return c
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers = append(c.timers, t)
	c.change.Broadcast()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.timers, t)
		if i >= 0 {
			c.timers = slices.Delete(c.timers, i, i+1)
		}
		return i >= 0
	}
}

// Advance moves the clock and runs all due functions to their end.
func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := c.now.Add(d)
	for {
		next := -1
		for i, t := range c.timers {
			if !t.at.After(until) && (next < 0 || t.at.Before(c.timers[next].at)) {
				next = i
			}
		}
		if next < 0 {
			c.now = until
			return
		}
		t := c.timers[next]
		c.timers = slices.Delete(c.timers, next, next+1)
		if t.at.After(c.now) {
			c.now = t.at
		}
		c.mu.Unlock()
		t.f()
		c.mu.Lock()
	}
}

// AwaitTimers blocks until n timers wait.
func (c *clock) AwaitTimers(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers) != n {
		c.change.Wait()
	}
}

// bench is one simulator on real files behind a real server.
type bench struct {
	t      testing.TB
	dir    string
	clock  *clock
	random io.Reader
	log    *syncBuffer
	sim    *simulator.Simulator
	server *httptest.Server
	client *adapter.Adapter
	keys   int
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, dir: t.TempDir(), clock: newClock(start), log: &syncBuffer{}}
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *bench) open() {
	b.t.Helper()
	sim, err := simulator.New(simulator.Config{
		Dir: b.dir, Secret: secret, Now: b.clock.Now, AfterFunc: b.clock.AfterFunc, Random: b.random,
		Log: zerolog.New(b.log).Level(zerolog.DebugLevel),
	})
	must(b.t, err)
	b.sim, b.server = sim, httptest.NewServer(sim.Handler())
	b.client, err = adapter.New(b.server.URL, openapitest.Client(b.t, nil))
	must(b.t, err)
}

func (b *bench) close() {
	b.t.Helper()
	must(b.t, b.sim.Close())
	b.client.Close()
	b.server.Close()
}

// awaitNotified waits until the books record n notifications as delivered or given up, which is
// after the receiver's answer.
func (b *bench) awaitNotified(n int) {
	b.t.Helper()
	for {
		text, err := os.ReadFile(b.file())
		must(b.t, err)
		if bytes.Count(text, []byte(`{"type":"notified"`)) >= n {
			return
		}
		runtime.Gosched()
	}
}

// reopen closes the simulator and starts it again on the same books.
func (b *bench) reopen() { b.close(); b.open() }

// key returns a new idempotency key in the service's form.
func (b *bench) key() domain.OperationKey {
	b.keys++
	return domain.OperationKey(fmt.Sprintf("01payment.%d", b.keys))
}

func (b *bench) send(op processor.Operation) processor.Answer {
	b.t.Helper()
	answer, err := b.client.Send(b.t.Context(), op)
	must(b.t, err)
	return answer
}

func (b *bench) lookup(op processor.Operation) processor.Lookup {
	b.t.Helper()
	l, err := b.client.Lookup(b.t.Context(), op.Processor, op.Key)
	must(b.t, err)
	return l
}

func (b *bench) books() []protocol.Line {
	b.t.Helper()
	lines, err := b.client.Books(b.t.Context(), adapter.Filter{})
	must(b.t, err)
	return lines
}

func (b *bench) fault(f protocol.Fault) {
	b.t.Helper()
	must(b.t, b.client.SetFault(b.t.Context(), f))
}

// authorize makes an operation for card number, ready to send.
func (b *bench) authorize(number string, amount domain.Amount) processor.Operation {
	return processor.Operation{
		Kind: processor.Authorize, Key: b.key(), Processor: processor.Adyen, MerchantID: "merchant-1",
		Reference: "01payment", Amount: amount, Currency: "EUR", Card: testCard(number, "123"),
	}
}

func testCard(number, cvv string) *processor.Card {
	return &processor.Card{Number: number, CVV: cvv, ExpirationMonth: "12", ExpirationYear: "2031", CardholderName: "Ada Lovelace"}
}

// on makes an operation on the transaction of parent.
func (b *bench) on(parent processor.Answer, kind processor.Kind, amount domain.Amount) processor.Operation {
	return processor.Operation{
		Kind: kind, Key: b.key(), Processor: processor.Adyen, MerchantID: "merchant-1", Reference: "01payment",
		ParentID: parent.ProcessorTransactionID, Amount: amount, Currency: "EUR",
	}
}

// approved authorizes amount with a plain card.
func (b *bench) approved(amount domain.Amount) processor.Answer {
	b.t.Helper()
	answer := b.send(b.authorize("4242424242424242", amount))
	expect(b.t, answer, processor.Succeeded, "")
	return answer
}

// post sends a raw body and returns the status and the answer.
func (b *bench) post(path, body string, header ...string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.server.URL+path, bytes.NewBufferString(body))
	must(b.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := b.server.Client().Do(r)
	must(b.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(b.t, err)
	return response.StatusCode, string(text)
}

func expect(t testing.TB, a processor.Answer, state processor.State, code string) {
	t.Helper()
	if a.State != state || a.Code != code {
		t.Fatalf("answer is %s %q, want %s %q: %+v", a.State, a.Code, state, code, a)
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// syncBuffer collects log lines from many goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// sendLater sends op in a new goroutine. The channel returns the result.
func (b *bench) sendLater(ctx context.Context, op processor.Operation) <-chan result {
	done := make(chan result, 1)
	go func() {
		answer, err := b.client.Send(ctx, op)
		done <- result{answer, err}
	}()
	return done
}

type result struct {
	answer processor.Answer
	err    error
}
