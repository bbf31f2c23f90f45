package crashtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// place is where a gate stops a request.
type place int

const (
	never    place = iota
	arrived        // it never goes on
	late           // it goes on after the processes have started again
	done           // its answer does not go on
	answered       // its answer has gone on
	failed         // its answer is replaced by 500
)

// trap stops one request at a gate.
type trap struct {
	at      place
	matches func(r *http.Request, body []byte) bool
	cuts    bool   // the caller's connection is closed as soon as the request is stopped
	fire    func() // kills

	fired   chan struct{} // closed after the kills
	release chan struct{} // closed when the stopped request may go on
	over    chan struct{} // closed when nothing of the request is left
}

func newTrap(at place, matches func(*http.Request, []byte) bool) *trap {
	return &trap{at: at, matches: matches, fired: make(chan struct{}), release: make(chan struct{}), over: make(chan struct{})}
}

func (t *trap) kill() {
	t.fire()
	close(t.fired)
}

// gate stands before a server.
type gate struct {
	next http.Handler

	mu   sync.Mutex
	trap *trap
}

func (g *gate) set(t *trap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trap = t
}

// take returns the trap if it matches a request. It stops one request only.
func (g *gate) take(r *http.Request, body []byte) *trap {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.trap
	if t == nil || !t.matches(r, body) {
		return nil
	}
	g.trap = nil
	return t
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // all of it is here before a kill
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	t := g.take(r, body)
	if t == nil {
		g.next.ServeHTTP(w, r)
		return
	}
	defer close(t.over)
	// It outlives the connection of a killed caller.
	kept := r.Clone(context.WithoutCancel(r.Context()))
	kept.Body = io.NopCloser(bytes.NewReader(body))
	switch t.at {
	case arrived:
		t.kill()
		t.wait(r)
		panic(http.ErrAbortHandler)
	case late:
		t.kill()
		if t.cuts {
			cut(w)
			<-t.release
			g.next.ServeHTTP(httptest.NewRecorder(), kept)
			return
		}
		<-t.release
		g.next.ServeHTTP(w, kept)
	case done:
		answer := httptest.NewRecorder()
		g.next.ServeHTTP(answer, kept)
		t.kill()
		t.wait(r)
		if t.cuts {
			panic(http.ErrAbortHandler)
		}
		pass(w, answer)
	case answered:
		answer := httptest.NewRecorder()
		g.next.ServeHTTP(answer, kept)
		pass(w, answer)
		t.kill()
	case failed:
		g.next.ServeHTTP(httptest.NewRecorder(), kept)
		t.kill()
		http.Error(w, "something went wrong", http.StatusInternalServerError)
	}
}

// wait waits until the stopped request may end: its caller is gone, or has asked about it.
func (t *trap) wait(r *http.Request) {
	if t.cuts {
		return
	}
	select {
	case <-t.release:
	case <-r.Context().Done():
	}
}

// pass writes a whole answer.
func pass(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
	_ = http.NewResponseController(w).Flush()
}

// cut closes the connection of a request.
func cut(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}
