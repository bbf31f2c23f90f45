package passing

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// pieceSize is the size in bytes of the pieces of a body. The first one has the head, too.
const pieceSize = 48 << 10

// seenTimeout is the longest wait of a request for the events that the first node knows.
const seenTimeout = 5 * time.Second

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

// Handle answers one request: it calls send with the head of the answer, and then with pieces of
// its body.
func (s *Server) Handle(ctx context.Context, request []byte, send func(piece []byte) error) error {
	e, body, err := decodeRequest(request)
	if err != nil {
		return fmt.Errorf("passing: a request is unreadable: %w", err)
	}
	target, err := url.ParseRequestURI(e.Target)
	if err != nil {
		return fmt.Errorf("passing: %w", err)
	}
	sent, length := io.Reader(bytes.NewReader(body)), int64(len(body))
	if e.Cut { // half of a form could look like a whole one
		sent, length = io.MultiReader(sent, cutBody{}), -1
	}
	r := (&http.Request{
		Method: e.Method, URL: target, RequestURI: e.Target, Host: e.Host, Proto: e.Proto, RemoteAddr: e.Peer, Header: e.Header,
		Body: io.NopCloser(sent), ContentLength: length,
	}).WithContext(s.WithID(ctx, e.ID))
	if e.TLS {
		r.TLS = &tls.ConnectionState{}
	}
	w := &writer{send: send, header: http.Header{}, bodiless: e.Method == http.MethodHead}
	waiting, cancel := context.WithTimeout(ctx, seenTimeout)
	err = s.Shown(waiting, e.Seen)
	cancel()
	if err != nil {
		s.Refuse(w, r, Refusal{ID: e.ID, Description: behind, Recovery: repeat})
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
	head     head   // since begin
	sent     bool   // the head
	length   int    // of the body, in bytes
	waits    []byte // the end of the body that was not sent yet
}

// Header, WriteHeader and Write implement http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader keeps the head for the first piece of the body.
func (w *writer) WriteHeader(status int) {
	if !w.begun {
		w.begun, w.head = true, head{status, w.header.Clone()}
	}
}

func (w *writer) Write(b []byte) (n int, err error) {
	w.WriteHeader(http.StatusOK)
	n = len(b)
	w.length += n
	if w.bodiless {
		return n, nil
	}
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
	piece := w.waits
	w.waits = nil // the piece is on its way
	if !w.sent {
		w.sent = true
		var err error
		if piece, err = w.head.encode(piece); err != nil {
			return err
		}
	}
	if len(piece) == 0 {
		return nil
	}
	return w.send(piece)
}

// FlushError and SetReadDeadline serve http.ResponseController. The deadlines are those of the
// client's connection, at the other node.
func (w *writer) FlushError() error {
	w.WriteHeader(http.StatusOK)
	return w.flush()
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() } // the next write fails, too

// SetReadDeadline does nothing.
func (w *writer) SetReadDeadline(time.Time) error { return nil }

// end sends the rest. An answer that is short has its length, as on any node.
func (w *writer) end() error {
	w.WriteHeader(http.StatusOK)
	h := w.head
	if !w.sent && h.Status != http.StatusNoContent && h.Status != http.StatusNotModified && h.Header.Get("Content-Length") == "" {
		h.Header.Set("Content-Length", strconv.Itoa(w.length))
	}
	return w.flush()
}
