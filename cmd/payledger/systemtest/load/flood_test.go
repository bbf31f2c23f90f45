//go:build system

package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/childtest"
)

// crowd is many callers at once, each on a kept connection, each sending its next request when the
// last one is answered.
type crowd struct {
	mu       sync.Mutex
	taken    []time.Duration // how long the requests took that were answered 200
	answers  map[int]int     // by status
	shed     []time.Duration // how long the answers 503 took
	broken   int             // connections that failed
	lastFail error
}

// flood sends requests over n connections until the time is over. A caller that is answered 503
// waits pause before its next request.
func flood(ctx context.Context, n int, key, api string, pause time.Duration, send func(w *apptest.Wire) (int, error)) *crowd {
	c := &crowd{answers: map[int]int{}}
	var running sync.WaitGroup
	for range n {
		running.Go(func() { c.call(ctx, key, api, pause, send) })
	}
	running.Wait()
	slices.Sort(c.taken)
	slices.Sort(c.shed)
	return c
}

func (c *crowd) call(ctx context.Context, key, api string, pause time.Duration, send func(w *apptest.Wire) (int, error)) {
	for ctx.Err() == nil {
		w, err := apptest.DialWire(api, key)
		if err != nil {
			c.fail(err)
			return
		}
		stop := context.AfterFunc(ctx, func() { w.Conn.SetDeadline(time.Now().Add(10 * time.Second)) })
		for err == nil && ctx.Err() == nil {
			began := time.Now()
			var status int
			if status, err = send(w); err == nil {
				c.note(status, time.Since(began))
				if status == http.StatusServiceUnavailable && pause > 0 {
					apptest.Rest(ctx, pause)
				}
			}
		}
		stop()
		w.Conn.Close()
		if err != nil && ctx.Err() == nil {
			c.fail(err)
			apptest.Rest(ctx, max(pause, 10*time.Millisecond))
		}
	}
}

func (c *crowd) note(status int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[status]++
	switch status {
	case http.StatusOK:
		c.taken = append(c.taken, took)
	case http.StatusServiceUnavailable:
		c.shed = append(c.shed, took)
	}
}

func (c *crowd) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken++
	c.lastFail = err
}

// of is a quantile of sorted times, in milliseconds.
func of(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return float64(times[min(len(times)-1, int(float64(len(times))*q))].Microseconds()) / 1000
}

func (c *crowd) String() string {
	return fmt.Sprintf("answers %v, broken %d (%v); taken %d: p50 %.1f ms, p99 %.1f ms; shed %d: p50 %.1f ms, p99 %.1f ms",
		c.answers, c.broken, c.lastFail, len(c.taken), of(c.taken, 0.5), of(c.taken, 0.99), len(c.shed), of(c.shed, 0.5), of(c.shed, 0.99))
}

// vaulted makes a token that pays again and again, and returns the body of a payment with it.
func vaulted(t testing.TB, m *apptest.Merchant) string {
	t.Helper()
	token := m.Token(t, "order-vault", 2500, "4111111111111111")
	m.Must(t, "POST", "/payment-instruments/"+token+"/vault", m.Headers(), map[string]any{"customerId": "customer-1"})
	return `{"paymentMethodToken":"` + token + `","amount":2500,"currencyCode":"EUR","orderId":"order-1","customerId":"customer-1"}`
}

// probesBeside sends probes from a separate process, every 50 ms: the process of the crowd has no
// time for them.
func probesBeside(ctx context.Context, t testing.TB, url string) (took []time.Duration, failed []error) {
	command := childtest.Tied(exec.Command(os.Args[0]))
	command.Env = append(os.Environ(), apptest.AsProbe+"="+url)
	stdin, err := command.StdinPipe() // its end ends the process
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	context.AfterFunc(ctx, func() { stdin.Close() })
	out, err := command.Output()
	if err != nil {
		t.Error(err)
	}
	var result apptest.Probed
	if err := json.Unmarshal(out, &result); err != nil {
		t.Error(err)
	}
	for _, text := range result.Failed {
		failed = append(failed, errors.New(text))
	}
	return result.Took, failed
}

// hold opens connections that send requests and never read, until stop is called. It returns the
// number of open ones.
func hold(address string, n int, request string, buffer int) (conns []net.Conn, err error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	var failed atomic.Pointer[error]
	for range n {
		running.Go(func() {
			conn, err := net.DialTimeout("tcp", address, 5*time.Second)
			if err != nil {
				failed.Store(&err)
				return
			}
			conn.(*net.TCPConn).SetReadBuffer(buffer)
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
			conn.Write([]byte(request)) // the server may take no more
		})
	}
	running.Wait()
	if e := failed.Load(); e != nil {
		err = *e
	}
	return conns, err
}
