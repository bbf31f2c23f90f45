package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
	"payledger/eventstore/eventstoretest"
)

// fake is a service that answers the requests of bench. The real service is loaded in the tests of
// the program.
type fake struct {
	*httptest.Server
	paid    atomic.Int64 // payments that were requested
	metrics atomic.Int64 // the first two are around the load that does not count
	deleted atomic.Int64 // webhook endpoints
}

func (f *fake) counts() bool { return f.metrics.Load() > 2 }

// newFake starts a fake. pay, if not nil, may answer a payment instead of it.
func newFake(t *testing.T, pay func(f *fake, w http.ResponseWriter, r *http.Request) (done bool)) *fake {
	t.Helper()
	f := &fake{}
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /client-session", answer(`{"clientToken":"c"}`))
	routes.HandleFunc("POST /payment-instruments", answer(`{"token":"t"}`))
	routes.HandleFunc("GET /healthz", answer(`{}`))
	routes.HandleFunc("POST /management/webhook-endpoints", answer(`{"id":"e1"}`))
	routes.HandleFunc("DELETE /management/webhook-endpoints/e1", func(w http.ResponseWriter, _ *http.Request) {
		f.deleted.Add(1)
		fmt.Fprint(w, "{}")
	})
	routes.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "process_cpu_seconds_total %d\npayledger_log_events %d\n", f.metrics.Add(1), 2*f.paid.Load())
	})
	routes.HandleFunc("POST /payments", func(w http.ResponseWriter, r *http.Request) {
		n := f.paid.Add(1)
		if pay == nil || !pay(f, w, r) {
			fmt.Fprintf(w, `{"id":"p%d","status":"AUTHORIZED"}`, n)
		}
	})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		browser := r.URL.Path == "/payment-instruments" && r.Header.Get("X-Client-Token") == "c"
		if r.Header.Get("X-API-KEY") != "key" && r.URL.Path != "/metrics" && !browser {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"errorId":"Unauthorized","description":"The key is not known."}}`)
			return
		}
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		f.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return f
}

// TestProductionKey: bench makes no payment with a key of production, whatever is around the key.
func TestProductionKey(t *testing.T) {
	f := newFake(t, nil)
	for _, key := range []string{"plk_live_x", " plk_live_x", "\tplk_live_x ", "plk_live_x "} {
		c := bench(t, f, "authorize")
		c.APIKey = key
		err := c.Run(t.Context(), terminal.Streams{Out: io.Discard, Err: io.Discard}, nil)
		if _, usage := errors.AsType[options.UsageError](err); !usage || !strings.Contains(err.Error(), "of production") || f.paid.Load() > 0 {
			t.Errorf("%q: %v, and %d payments", key, err, f.paid.Load())
		}
	}
}

// bench returns the command for a short run at a fake.
func bench(t *testing.T, f *fake, scenario string) *Command {
	t.Helper()
	return &Command{URL: f.URL, AdminURL: f.URL, APIKey: "key", Scenario: scenario, Concurrency: 2, Duration: time.Second, Rounds: 1, Scratch: t.TempDir(), JSON: true}
}

func run(ctx context.Context, c *Command) (r Report, out, errOut string, err error) {
	var stdout, stderr strings.Builder
	err = c.Run(ctx, terminal.Streams{Out: &stdout, Err: &stderr}, nil)
	if err == nil {
		err = json.Unmarshal([]byte(stdout.String()), &r)
	}
	return r, stdout.String(), stderr.String(), err
}

// hangUp breaks the connection of a request.
func hangUp(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// TestRuns: a run counts exactly what it requested, with its rate, its errors and the other
// service.
func TestRuns(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	const slow = 50 // requests a second
	t.Run("rate and yardstick", func(t *testing.T) {
		t.Parallel()
		ours, theirs := newFake(t, nil), newFake(t, nil)
		c := bench(t, ours, authorizing)
		c.Rate, c.Yardstick = slow, theirs.URL+"/"
		r, _, errOut, err := run(t.Context(), c)
		if err != nil || errOut != "" {
			t.Fatalf("%v %q", err, errOut)
		}
		if r.Requests != 50 || r.Errors != 0 || ours.paid.Load() != 100 || theirs.paid.Load() != 100 { // a second that does not count
			t.Errorf("%d requests, %d errors; the services had %d and %d", r.Requests, r.Errors, ours.paid.Load(), theirs.paid.Load())
		}
		if cpu := r.ServerCPUMsPerRequest; cpu != 20 { // a second between two readings, for 50 requests
			t.Errorf("%v ms of CPU for a request", cpu)
		}
		if events := r.EventsPerSecond * r.Seconds; events < 99.9 || events > 100.1 {
			t.Errorf("%v events", events)
		}
		for _, name := range []string{"perSecond/otherService", "serverCpuMsPerRequest/otherService", "eventsPerSecond/durablePublish", "p50/(2*fsync+roundTrip)"} {
			if r.Ratios[name] <= 0 {
				t.Errorf("no ratio %s: %v", name, r.Ratios)
			}
		}
		if other := r.Yardsticks[otherYardstick]; other.PerSecond <= 0 || other.P50 <= 0 || other.P99 <= 0 || other.CPUMsPerRequest != 20 {
			t.Errorf("the other service: %+v", other)
		}
	})
	t.Run("nodes and processes", func(t *testing.T) {
		t.Parallel()
		nodes := []*fake{newFake(t, nil), newFake(t, nil), newFake(t, nil)}
		c := bench(t, nodes[0], authorizing)
		c.Rate, c.Concurrency, c.Peers = slow, 6, []string{nodes[1].URL, nodes[2].URL + "/"}
		c.NoCeilings = true
		c.Processes = []string{fmt.Sprintf("self=%d", os.Getpid()), fmt.Sprintf("self=%d", os.Getpid()), fmt.Sprintf("parent=%d", os.Getppid())}
		r, _, errOut, err := run(t.Context(), c)
		if err != nil || errOut != "" || r.Requests != 50 {
			t.Fatalf("%d requests: %v %q", r.Requests, err, errOut)
		}
		for i, node := range nodes {
			if node.paid.Load() == 0 {
				t.Errorf("node %d got no request", i)
			}
		}
		if cpu, both := r.ProcessCPU["self"]; !both || cpu < 0 || len(r.ProcessCPU) != 2 {
			t.Errorf("CPU of processes: %v", r.ProcessCPU)
		}
		if len(r.Yardsticks) > 0 || len(r.Ratios) > 0 {
			t.Errorf("ceilings: %v, %v", r.Yardsticks, r.Ratios)
		}
	})
	t.Run("one broken connection", func(t *testing.T) {
		t.Parallel()
		var once sync.Once
		c := bench(t, newFake(t, func(f *fake, w http.ResponseWriter, r *http.Request) (done bool) {
			if f.counts() {
				once.Do(func() { done = true })
			}
			return done && hangUp(w, r)
		}), authorizing)
		c.Rate = slow
		r, _, errOut, err := run(t.Context(), c)
		if err != nil || r.Errors != 1 || r.Requests == 0 || !strings.Contains(errOut, "1 request failed; the first: POST /payments: no answer") {
			t.Errorf("%v, %d requests, %d errors: %s", err, r.Requests, r.Errors, errOut)
		}
	})
	t.Run("every connection breaks", func(t *testing.T) {
		t.Parallel()
		c := bench(t, newFake(t, func(f *fake, w http.ResponseWriter, r *http.Request) bool { return f.counts() && hangUp(w, r) }), authorizing)
		c.Rate = slow
		_, out, errOut, err := run(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "no request succeeded") || out != "" || !strings.Contains(errOut, "2 requests failed") {
			t.Errorf("%v %q: %s", err, out, errOut)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		ctx, interrupt := context.WithCancel(t.Context())
		f := newFake(t, func(_ *fake, _ http.ResponseWriter, r *http.Request) bool {
			io.Copy(io.Discard, r.Body) // only then the server notices that the client is gone
			interrupt()
			<-r.Context().Done() // no answer
			return true
		})
		_, out, errOut, err := run(ctx, bench(t, f, notifying))
		if err == nil || !strings.Contains(err.Error(), "interrupted") || out != "" || errOut != "" {
			t.Errorf("%v %q: %s", err, out, errOut)
		}
		if f.deleted.Load() != 1 {
			t.Errorf("%d webhook endpoints were deleted", f.deleted.Load())
		}
	})
}

// TestRefused: an error names what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t, nil)
	down := httptest.NewServer(nil)
	down.Close()
	for says, change := range map[string]func(c *Command){
		"start one with `payledger serve`":                                func(c *Command) { c.URL = down.URL },
		"refuses --api-key (PAYLEDGER_API_KEY): use a key of this server": func(c *Command) { c.APIKey = "other" },
		"name the server's --admin-listen":                                func(c *Command) { c.AdminURL = down.URL },
		"start it as deploy/yardstick says":                               func(c *Command) { c.Yardstick = down.URL },
		"--scratch":                                                       func(c *Command) { c.Scratch += "/missing" },
		"--processes gone=999999999":                                      func(c *Command) { c.Processes = []string{"gone=999999999"} },
		down.Listener.Addr().String() + ": connect: connection refused":   func(c *Command) { c.Peers = []string{down.URL} },
	} {
		c := bench(t, f, authorizing)
		change(c)
		if _, out, _, err := run(t.Context(), c); err == nil || !strings.Contains(err.Error(), says) || out != "" {
			t.Errorf("%v %q, expected %q", err, out, says)
		}
	}
	wrongKey := newFake(t, func(_ *fake, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	c := bench(t, f, reading)
	c.Yardstick = wrongKey.URL
	if _, _, _, err := run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "start it with the same key, by its flag --api-key") {
		t.Errorf("a yardstick with another key: %v", err)
	}
}

// TestFaults: one usage error names every wrong flag, before anything is requested.
func TestFaults(t *testing.T) {
	t.Parallel()
	_, _, _, err := run(t.Context(), &Command{
		URL: "https://127.0.0.1:8443", AdminURL: "x", Scenario: replaying, Concurrency: 0, Duration: time.Millisecond, Rounds: 101, Rate: -1, Yardstick: "ftp://x",
		Peers: []string{"http://127.0.0.1:8080", "https://127.0.0.1:8081"}, Processes: []string{"nats=1", "nats"},
	})
	var usage options.UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("no usage error: %v", err)
	}
	for _, says := range []string{
		"--api-key (PAYLEDGER_API_KEY) is missing", `--url "https://127.0.0.1:8443" is https`, "--admin-url", `--yardstick "ftp://x"`, "--yardstick does not go with --scenario replay",
		"--concurrency", "--duration", "--rounds", "--rate", `--peers "https://127.0.0.1:8081" is https`, `--processes "nats" must be a name`,
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v lacks %q", err, says)
		}
	}
}

// TestReplayPages: a connection reads page after page, and begins again after the last.
func TestReplayPages(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if r.URL.Query().Get("after") == "" {
			fmt.Fprint(w, `{"data":[{"position":1},{"position":4}],"nextAfter":4}`)
		} else {
			fmt.Fprint(w, `{"data":[{"position":5}]}`)
		}
	}))
	defer server.Close()
	address, err := addressOf("--url", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	l := load{connections: connections(1)}
	if err := l.connect(t.Context(), &service{address: address}); err != nil {
		t.Fatal(err)
	}
	defer l.disconnect()
	s, c := service{}, l.connections[0]
	for range 3 {
		if err := s.replay(c, 0); err != nil {
			t.Fatal(err)
		}
	}
	if expected := []string{"limit=1000", "limit=1000&after=4", "limit=1000"}; !slices.Equal(asked, expected) || c.read != 5 {
		t.Errorf("requested %q and read %d events", asked, c.read)
	}
}

// TestStat: the CPU time of a process has its own and not that of its children, whatever the
// program is called.
func TestStat(t *testing.T) {
	t.Parallel()
	if spent, err := cpuOfStat([]byte("42 (a (b) c) S 7 1 1 0 -1 4194304 1 2 3 4 10 20 300 4000 20 0 1 0 5 6 7")); err != nil || spent != 300*time.Millisecond {
		t.Errorf("%s, %v", spent, err)
	}
	for _, text := range []string{"", "42 (a) S 7", "42 (a) S 7 1 1 0 -1 4194304 1 2 3 4 x 20 300"} {
		if spent, err := cpuOfStat([]byte(text)); err == nil {
			t.Errorf("%q: %s", text, spent)
		}
	}
}
