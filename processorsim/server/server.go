package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"

	"github.com/gorilla/mux"
	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
)

// Books are what the server answers from. Its methods are called concurrently, and return only what
// is durable. A context ends when the client goes away, and at Close.
type Books interface {
	// Declaration returns false for a processor that is not behind these books.
	Declaration(name processor.Name) (protocol.Declaration, bool)
	// Send performs op, or returns the answer under its key. Errors: protocol.ErrKeyReused,
	// protocol.ErrInProgress, ErrCut; after any other the outcome is unknown.
	Send(ctx context.Context, op processor.Operation) (processor.Answer, error)
	// Lookup returns the state of the operation with the key.
	Lookup(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error)
	// Fence refuses the key from now on. If the key was seen before, Fence is Lookup.
	Fence(ctx context.Context, name processor.Name, key domain.OperationKey) (processor.Lookup, error)
	// Entries calls yield with every operation that f selects, in order of creation, until yield
	// returns an error.
	Entries(ctx context.Context, f protocol.Filter, yield func(protocol.Entry) error) error
	// Disputes returns notifications about disputes, delivered or not, oldest first. Error:
	// protocol.ErrUnknownCursor.
	Disputes(ctx context.Context, f protocol.DisputeFilter) (protocol.DisputeList, error)
}

// Config configures a server. Books is required.
type Config struct {
	Books Books
	Token string         // of the ledger, in its header Authorization; "": the server takes every call
	Log   zerolog.Logger // the operator's; the zero value is silent
}

// Server serves the protocol. Close it before http.Server.Shutdown, which would wait for requests
// that are held.
type Server struct {
	books  Books
	token  [sha256.Size]byte
	guards bool
	log    zerolog.Logger
	router *mux.Router
	ctx    context.Context // ended by Close
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // requests that use the books
}

// New returns a server. Serve its Handler.
func New(c Config) *Server {
	s := &Server{books: c.Books, guards: c.Token != "", token: sha256.Sum256([]byte(c.Token)), log: c.Log}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.routes()
	return s
}

// Handler serves the protocol until Close, and after it with 503.
func (s *Server) Handler() http.Handler { return s.router }

// Close ends the contexts of all requests, and waits for the requests.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.inside.Wait()
}

// enter counts a request in; false after Close. inside.Done must follow.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.inside.Add(1)
	return true
}

// Handle adds an endpoint. An error of handle becomes an answer: that of Problem, else 503.
func (s *Server) Handle(method, path string, handle func(http.ResponseWriter, *http.Request) error) {
	s.router.Handle(path, s.endpoint(handle)).Methods(method)
}

func (s *Server) endpoint(handle func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			s.fail(w, Problem(http.StatusServiceUnavailable, protocol.CodeUnavailable, "shutting down"))
			return
		}
		defer s.inside.Done()
		if !s.authorized(r) {
			s.fail(w, Problem(http.StatusUnauthorized, protocol.CodeUnauthorized, "the header Authorization has not the token of this server"))
			return
		}
		if err := handle(w, r); err != nil {
			s.fail(w, err)
		}
	})
}

// authorized compares digests, in constant time: neither content nor length of the token shows.
func (s *Server) authorized(r *http.Request) bool {
	if !s.guards {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(digest[:], s.token[:]) == 1
}

// during returns the request's context, which also ends at Close.
func (s *Server) during(r *http.Request) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}
