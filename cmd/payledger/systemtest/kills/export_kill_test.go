//go:build system

package kills

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/childtest"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
)

// killedEvents is the number of events of the test below: an export reads pages of 1000 events, and
// writes rows each 2000 events.
const killedEvents = 3100

// pages is a door to the API that ends the feed of events after some pages, or does not answer a
// page. It counts from set on, from 1. Pages from before a position are not counted: an export that
// is appended first reads the event with which the files end.
type pages struct {
	to      *httputil.ReverseProxy
	mu      sync.Mutex
	from    uint64 // position behind which pages are counted
	n       int
	last    int           // no later page exists; 0: the feed is whole
	hold    int           // it is not answered; 0: all are
	reached chan struct{} // closed at the request for that page
}

// set changes the door and returns a channel that is closed at the request for the held page.
func (p *pages) set(from uint64, last, hold int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from, p.n, p.last, p.hold, p.reached = from, 0, last, hold, make(chan struct{})
	return p.reached
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/events" { // the deliveries, which an export reads first
		p.to.ServeHTTP(w, r)
		return
	}
	after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	if after < p.from {
		p.mu.Unlock()
		p.to.ServeHTTP(w, r)
		return
	}
	p.n++
	held, last, reached := p.n == p.hold, p.n == p.last, p.reached
	p.mu.Unlock()
	if held {
		close(reached)
		<-r.Context().Done()
		return
	}
	if !last {
		p.to.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	p.to.ServeHTTP(answer, r)
	var body map[string]json.RawMessage
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	delete(body, "nextAfter")
	_ = json.NewEncoder(w).Encode(body) // the client meets the error
}

// exportOf returns an export in a separate process. It is killed when it takes too long, and when
// the test ends: the door holds its request.
func exportOf(t *testing.T, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), apptest.SettleDeadline)
	t.Cleanup(cancel)
	c := childtest.Tied(exec.CommandContext(ctx, os.Args[0], append([]string{"export"}, args...)...))
	c.Env = append(os.Environ(), apptest.AsProgram+"=1")
	return c
}

// exportedFiles returns the content of an export: of a folder its files with a final name, of a
// SQLite file its rows by table.
func exportedFiles(t *testing.T, out string) map[string]string {
	t.Helper()
	all := map[string]string{}
	info, err := os.Stat(out)
	switch {
	case os.IsNotExist(err):
	case err != nil:
		t.Fatal(err)
	case !info.IsDir():
		for _, table := range []string{"events", "entries", "payments", "transactions", "refunds", "disputes", "deliveries"} {
			all[table] = rowsOf(t, out, "SELECT * FROM "+table+" ORDER BY 1, 2")
		}
	default:
		for path, content := range files(t, out) {
			if name := filepath.Base(path); !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".part") {
				all[name] = content
			}
		}
	}
	return all
}

// TestExportKilled kills an export while it reads, before and after it has written rows: nothing
// incomplete has a final name, and the next run has every event once, with the same files as an
// export that was not killed. An export with --after, too (I1).
func TestExportKilled(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	app := apptest.StartApp(t, apptest.TestOptions(t.TempDir()))
	m := apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	var endpoint struct{ ID string }
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver.URL, "eventTypes": []string{"PAYMENT.STATUS"}}).Decode(t, &endpoint)
	for i := range 20 {
		paid, err := m.Pay(m.Token(t, fmt.Sprintf("order-%d", i), 2000, "4111111111111111"), "")
		if err != nil || paid.Status != 200 {
			t.Fatal(paid.Status, err)
		}
		var p apptest.PaymentAnswer
		paid.Decode(t, &p)
		m.Must(t, "POST", "/payments/"+p.ID+"/capture", m.Headers(), nil)
	}
	var making sync.WaitGroup
	for range 8 {
		making.Go(func() {
			for range killedEvents / 8 {
				if got, err := m.Call("POST", "/client-session", m.Headers(), `{"orderId":"o","currencyCode":"EUR","amount":500}`); err != nil || got.Status != 200 {
					t.Error(got.Status, err)
					return
				}
			}
		})
	}
	making.Wait()
	covered(t, app)
	apptest.AllSucceeded(t, m, endpoint.ID, 40) // of each payment AUTHORIZED and SETTLED
	api, err := url.Parse(app.Ready().API)
	if err != nil {
		t.Fatal(err)
	}
	door := &pages{to: httputil.NewSingleHostReverseProxy(api)}
	server := httptest.NewServer(door)
	t.Cleanup(server.Close)
	for i, format := range []string{"jsonl", "csv", "parquet", "sqlite"} {
		if !seedtest.Turn(i, 2) {
			continue
		}
		k := killedExport{t: t, door: door, format: format, args: []string{"--url", server.URL, "--api-key", m.Key, "--format", format, "--out"}}
		whole, first := filepath.Join(t.TempDir(), format), filepath.Join(t.TempDir(), format)
		k.run(whole, 0)
		_, after, found := strings.Cut(k.run(first, 1), "Append later events with ")
		appended := strings.Fields(strings.Trim(after, ".\n"))
		if !found || len(appended) != 2 {
			t.Fatalf("%s: no --after: %q", format, after)
		}
		from, err := strconv.ParseUint(appended[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		began, later := exportedFiles(t, first), copiedExport(t, first)
		k.run(later, 0, appended...)
		for _, hold := range []int{2, 3} { // before and after rows are written
			out := filepath.Join(t.TempDir(), format)
			k.killed(out, 0, hold, nil)
			k.run(out, 0)
			k.same(fmt.Sprintf("killed at page %d", hold), out, exportedFiles(t, whole))
			out = copiedExport(t, first)
			k.killed(out, from, hold, began, appended...)
			k.run(out, 0, appended...)
			k.same(fmt.Sprintf("with --after, killed at page %d", hold), out, exportedFiles(t, later))
		}
	}
}

// killedExport exports in one format.
type killedExport struct {
	t      *testing.T
	door   *pages
	format string
	args   []string // without the target
}

// run exports into a place, so many pages or all, and returns the printed text.
func (k killedExport) run(out string, last int, args ...string) string {
	k.t.Helper()
	k.door.set(0, last, 0)
	text, err := exportOf(k.t, append(append(k.args[:len(k.args):len(k.args)], out), args...)...).CombinedOutput()
	if err != nil {
		k.t.Fatalf("%s: %v: %s", k.format, err, text)
	}
	return string(text)
}

// killed kills an export when it requests a page, counted from a position, and checks that the
// place shows only the files from before.
func (k killedExport) killed(out string, from uint64, hold int, before map[string]string, args ...string) {
	k.t.Helper()
	reached := k.door.set(from, 0, hold)
	c := exportOf(k.t, append(append(k.args[:len(k.args):len(k.args)], out), args...)...)
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-reached:
	case err := <-ended:
		k.t.Fatalf("%s: within %s the export ended, or did not ask for page %d behind position %d: %v", k.format, apptest.SettleDeadline, hold, from, err)
	}
	if hold == 3 && k.format != "sqlite" { // rows are written while the next page is read
		apptest.Until(k.t, apptest.SettleDeadline/2, k.format+": the file of the rows of two pages, behind position "+strconv.FormatUint(from, 10), func() (bool, string) {
			written, err := filepath.Glob(filepath.Join(out, "*"))
			return slices.ContainsFunc(written, func(path string) bool { return strings.HasSuffix(path, ".part") }), fmt.Sprint("the folder has ", written, err)
		})
	}
	if err := c.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	<-ended
	if now := exportedFiles(k.t, out); !maps.Equal(now, before) {
		k.t.Errorf("%s: a killed export left %d files or tables, %d were there before", k.format, len(now), len(before))
	}
}

// same wants an export with the files of another one, and no parts.
func (k killedExport) same(what, out string, want map[string]string) {
	k.t.Helper()
	got := exportedFiles(k.t, out)
	for name := range want {
		if got[name] != want[name] {
			k.t.Errorf("%s, %s: %s differs from that of an export that was not killed", k.format, what, name)
		}
	}
	if len(got) != len(want) || len(want) == 0 {
		k.t.Errorf("%s, %s: %d files or tables, expected %d", k.format, what, len(got), len(want))
	}
	for _, pattern := range []string{out + "*.part*", filepath.Join(out, "*.part")} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			k.t.Errorf("%s, %s: left behind: %v %v", k.format, what, left, err)
		}
	}
}

// copiedExport copies an export.
func copiedExport(t *testing.T, out string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), filepath.Base(out))
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(out))
	} else {
		var b []byte
		if b, err = os.ReadFile(out); err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}
