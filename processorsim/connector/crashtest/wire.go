package crashtest

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// front is an address that stays while the process behind it changes.
type front struct {
	to     atomic.Pointer[url.URL]
	missed chan struct{} // gets a value when nobody answers
	*httputil.ReverseProxy
}

func newFront() *front {
	f := &front{missed: make(chan struct{}, 1)}
	f.ReverseProxy = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(f.to.Load()) },
		Transport: &http.Transport{DisableKeepAlives: true}, // else a kept connection sends a request twice after a kill
		ErrorLog:  log.New(io.Discard, "", 0),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			select {
			case f.missed <- struct{}{}:
			default:
			}
			panic(http.ErrAbortHandler) // as a connection that breaks
		},
	}
	f.set("http://127.0.0.1:1")
	return f
}

func (f *front) set(address string) {
	to, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	f.to.Store(to)
}

// wire is between the ledger and the connector. It watches look-ups.
type wire struct {
	front *front

	mu     sync.Mutex
	before func()        // runs before the next look-up goes on, once
	looked chan struct{} // closed when a look-up has its answer
}

// watch returns a channel that is closed after the next answer to a look-up.
func (w *wire) watch() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = make(chan struct{})
	return w.looked
}

// stop calls do before the next look-up goes on.
func (w *wire) stop(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = do
}

func (w *wire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/operations/") {
		w.front.ServeHTTP(out, r)
		return
	}
	w.mu.Lock()
	before := w.before
	w.before = nil
	w.mu.Unlock()
	if before != nil {
		before()
	}
	answer := &watched{ResponseWriter: out}
	w.front.ServeHTTP(answer, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if answer.status == http.StatusOK && w.looked != nil {
		close(w.looked)
		w.looked = nil
	}
}

type watched struct {
	http.ResponseWriter
	status int
}

func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the proxy flush.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }
