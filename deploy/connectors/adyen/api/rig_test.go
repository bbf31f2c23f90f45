package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// mode is what happens to a request on its way to the double and back.
type mode int

const (
	arrives    mode = iota
	noLine          // no connection
	busy            // 503 and Transient-Error: the key is unused
	running         // 422 and 704
	lostBefore      // it never arrives
	lostAfter       // it arrives, and the answer is lost
	late            // it arrives later, at flush
	killed          // it arrives, and the process ends before the answer
	modes
)

// wire carries requests to the double.
type wire struct {
	d *double

	mu      sync.Mutex
	next    mode
	delayed []func()
	hung    chan struct{} // closed when a request of a killed process has arrived
	paths   []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	how := w.next
	w.next = arrives
	w.paths = append(w.paths, r.URL.Path)
	w.mu.Unlock()
	if r.GetBody != nil {
		panic("net/http may send the request twice")
	}
	if how == noLine {
		return nil, errors.New("connection refused")
	}
	httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
	do := func() reply {
		return w.d.take(r.Method, r.URL.Path, r.Header.Get("X-API-Key"), r.Header.Get(headerKey), body)
	}
	var got reply
	switch how {
	case busy:
		got = reply{503, "true", `{"status":503,"errorCode":"000","message":"try again"}`}
	case running:
		got = refusedWith(422, inProgress, "request already processed or in progress")
	case lostBefore:
		return nil, errors.New("the connection was cut")
	case late:
		w.mu.Lock()
		w.delayed = append(w.delayed, func() { do() })
		w.mu.Unlock()
		return nil, errors.New("the connection was cut")
	case lostAfter:
		do()
		return nil, errors.New("the connection was cut")
	case killed:
		do()
		close(w.hung)
		<-r.Context().Done()
		return nil, r.Context().Err()
	default:
		got = do()
	}
	header := http.Header{}
	if got.header != "" {
		header.Set(headerRetry, got.header)
	}
	return &http.Response{StatusCode: got.status, Header: header, Body: io.NopCloser(strings.NewReader(got.body)), Request: r}, nil
}

// flush lets the late requests arrive.
func (w *wire) flush() {
	w.mu.Lock()
	list := w.delayed
	w.delayed = nil
	w.mu.Unlock()
	for _, do := range list {
		do()
	}
}

// rig is a connector over the double, with a clock.
type rig struct {
	t    testing.TB
	dir  string
	now  time.Time
	d    *double
	wire *wire
	k    *connector.Connector
	log  *syncedLog
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), log: &syncedLog{}}
	r.d = newDouble(func() time.Time { return r.now })
	r.wire = &wire{d: r.d}
	r.open()
	t.Cleanup(func() { must(t, r.k.Close(context.Background())) })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	clock := func() time.Time { return r.now }
	v := vendor(r.t, func(c *Config) { c.Now, c.Transport, c.Log = clock, r.wire, zerolog.New(r.log) })
	k, err := connector.New(context.Background(), connector.Config{
		Name: processor.Adyen, Vendor: v, Dir: r.dir, Secret: []byte("notify"), Now: clock, Log: zerolog.New(r.log),
		AfterFunc: func(time.Duration, func()) func() bool { return func() bool { return true } },
	})
	must(r.t, err)
	r.k = k
}

// kill ends the process while a request is at Adyen, and starts the next one.
func (r *rig) kill() {
	r.t.Helper()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	must(r.t, r.k.Close(ended))
	r.open()
}

// messages sends the webhooks that Adyen has, and returns those that were taken.
func (r *rig) messages(list ...[]byte) (taken [][]byte) {
	for _, body := range list {
		w := httptest.NewRecorder()
		r.k.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, connector.EventsPath, strings.NewReader(string(body))))
		if w.Code == http.StatusOK {
			taken = append(taken, body)
		}
	}
	return taken
}

func (r *rig) lookup(key domain.OperationKey) processor.Lookup {
	r.t.Helper()
	l, err := r.k.Lookup(context.Background(), processor.Adyen, key)
	must(r.t, err)
	return l
}

func (r *rig) fence(key domain.OperationKey) processor.Lookup {
	r.t.Helper()
	l, err := r.k.Fence(context.Background(), processor.Adyen, key)
	must(r.t, err)
	return l
}

func (r *rig) sent(op processor.Operation) processor.Answer {
	r.t.Helper()
	a, err := r.k.Send(context.Background(), op)
	must(r.t, err)
	return a
}

// lost sends an operation whose answer does not come.
func (r *rig) lost(op processor.Operation, how mode) {
	r.t.Helper()
	r.wire.next = how
	if a, err := r.k.Send(context.Background(), op); err == nil {
		r.t.Fatalf("an answer: %+v", a)
	}
}

func authorization(key, card string) processor.Operation {
	return processor.Operation{
		Kind: processor.Authorize, Key: domain.OperationKey(key), Processor: processor.Adyen, Reference: "01p", Amount: 1250, Currency: "EUR",
		Card: &processor.Card{Number: card, CVV: "987", ExpirationMonth: "12", ExpirationYear: "2031"},
	}
}

func following(kind processor.Kind, key, parent string, amount domain.Amount) processor.Operation {
	return processor.Operation{
		Kind: kind, Key: domain.OperationKey(key), Processor: processor.Adyen, Reference: "01p", ParentID: parent, Amount: amount, Currency: "EUR",
		Final: kind == processor.Capture,
	}
}
