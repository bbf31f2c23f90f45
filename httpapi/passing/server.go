package passing

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// pieceSize is the size in bytes of the pieces of a body.
const pieceSize = 48 << 10

// seenTimeout is the longest wait of a request for the events that the first node knows.
const seenTimeout = 5 * time.Second

// envelope is a request on its way between two nodes.
type envelope struct {
	Method string      `json:"method"`
	Target string      `json:"target"` // of the request line
	Host   string      `json:"host"`
	Proto  string      `json:"proto"`
	Peer   string      `json:"peer"` // the address at the other end of the client's connection
	TLS    bool        `json:"tls"`
	Header http.Header `json:"header"`
	ID     string      `json:"id"`
	Seen   []uint64    `json:"seen"`
	Body   []byte      `json:"body,omitempty"`
	Cut    bool        `json:"cut,omitempty"` // the client did not send all of the body
}

type head struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
}

// Server answers requests that nodes without views pass on.
type Server struct {
	// API answers the requests. It must not be a Door.
	API http.Handler
	// WithID returns a context with the request id that the API gives to a request.
	WithID func(ctx context.Context, id string) context.Context
	// Shown returns when the views show the events up to a position.
	Shown func(ctx context.Context, position []uint64) error
	// Refuse answers with an error of the API.
	Refuse Refuse
}

// Handle answers one request: it calls send with the head of the answer, and then with pieces of its body.
func (s *Server) Handle(ctx context.Context, request []byte, send func(piece []byte) error) error {
	var e envelope
	if err := json.Unmarshal(request, &e); err != nil {
		return fmt.Errorf("passing: a request is unreadable: %w", err)
	}
	target, err := url.ParseRequestURI(e.Target)
	if err != nil {
		return fmt.Errorf("passing: %w", err)
	}
	sent, length := io.Reader(bytes.NewReader(e.Body)), int64(len(e.Body))
	if e.Cut { // half of a form could look like a whole one
		sent, length = io.MultiReader(sent, cutBody{}), -1
	}
	r := (&http.Request{
		Method: e.Method, URL: target, RequestURI: e.Target, Host: e.Host, Proto: e.Proto, RemoteAddr: e.Peer, Header: e.Header,
		Body: io.NopCloser(sent), ContentLength: length,
	}).WithContext(s.WithID(ctx, e.ID))
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if e.TLS {
		r.TLS = &tls.ConnectionState{}
	}
	w := &writer{send: send, header: http.Header{}, bodiless: e.Method == http.MethodHead}
	waiting, cancel := context.WithTimeout(ctx, seenTimeout)
	err = s.Shown(waiting, e.Seen)
	cancel()
	if err != nil {
		s.Refuse(w, e.ID, behind, repeat)
		return w.end()
	}
	if cut := serve(s.API, w, r); cut {
		return errCut
	}
	return w.end()
}

// cutBody is the end of a body that is not whole.
type cutBody struct{}

func (cutBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// behind is the text for views that do not show in time what another node knows.
const behind = "The lists do not yet show everything that was acknowledged. Nothing was recorded."

var errCut = fmt.Errorf("passing: %w", http.ErrAbortHandler)

// serve calls a handler as a server does, and reports whether the handler cut the answer.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (cut bool) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // it is this value, or another panic
				panic(p)
			}
			cut = true
		}
	}()
	h.ServeHTTP(w, r)
	return false
}

// writer sends an answer in pieces.
type writer struct {
	send     func([]byte) error
	header   http.Header
	bodiless bool
	begun    bool
	waits    []byte // the end of the body that was not sent yet
}

// Header, WriteHeader and Write implement http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) { _ = w.begin(status) } // the next write fails, too

func (w *writer) begin(status int) error {
	if w.begun {
		return nil
	}
	w.begun = true
	text, err := json.Marshal(head{status, w.header})
	if err == nil {
		err = w.send(text)
	}
	return err
}

func (w *writer) Write(b []byte) (n int, err error) {
	if err := w.begin(http.StatusOK); err != nil {
		return 0, err
	}
	if w.bodiless {
		return len(b), nil
	}
	n = len(b)
	for len(w.waits)+len(b) >= pieceSize {
		room := pieceSize - len(w.waits)
		w.waits, b = append(w.waits, b[:room]...), b[room:]
		if err := w.flush(); err != nil {
			return n - len(b), err
		}
	}
	w.waits = append(w.waits, b...)
	return n, nil
}

func (w *writer) flush() error {
	if len(w.waits) == 0 {
		return nil
	}
	piece := w.waits
	w.waits = nil // the piece is on its way
	return w.send(piece)
}

// FlushError and SetReadDeadline serve http.ResponseController. The deadlines are those of the client's connection, at the other node.
func (w *writer) FlushError() error {
	if err := w.begin(http.StatusOK); err != nil {
		return err
	}
	return w.flush()
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() } // the next write fails, too

// SetReadDeadline does nothing.
func (w *writer) SetReadDeadline(time.Time) error { return nil }

func (w *writer) end() error {
	if err := w.begin(http.StatusOK); err != nil {
		return err
	}
	return w.flush()
}
