package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"payledger/httpapi/intake"
)

// Server is a listening HTTP server, with a second server for the connections beyond its caps.
type Server struct {
	URL     string
	servers []*http.Server
	done    chan error // of each server
}

// Certificate has the files of a certificate and its key.
type Certificate struct{ Cert, Key string }

const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 30 * time.Second // until the body is read
	idleTimeout    = 2 * time.Minute
	surplusTimeout = 2 * time.Second // for a request over a connection beyond the caps
)

// maxHeaderBytes is the size of headers beyond which the connection ends without an error body.
// Handlers refuse smaller headers with one (D1). The server reads 4 KiB more.
const maxHeaderBytes = 36 << 10

// Listen listens on a TCP address.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// Config has the handlers and the caps of a server.
type Config struct {
	Handler http.Handler
	Surplus http.Handler // of the connections beyond the caps; nil: there are no caps
	Caps    intake.Caps
	TLS     *Certificate
}

// Serve listens on address and serves.
func Serve(ctx context.Context, address string, c Config) (*Server, error) {
	listener, err := Listen(ctx, address)
	if err != nil {
		return nil, err
	}
	w := &Server{URL: "http://" + listener.Addr().String(), done: make(chan error, 2)}
	if c.TLS != nil {
		w.URL = "https://" + listener.Addr().String()
	}
	server := newServer(c.Handler)
	if c.Surplus == nil {
		w.serve(server, listener, c.TLS)
		return w, nil
	}
	split := intake.Listen(listener, c.Caps)
	server.ConnState, server.ConnContext = split.State, split.Context
	w.serve(server, split.Within(), c.TLS)
	surplus := newServer(c.Surplus)
	surplus.ReadHeaderTimeout, surplus.ReadTimeout, surplus.WriteTimeout = surplusTimeout, surplusTimeout, 2*surplusTimeout
	surplus.ConnContext = split.Context
	surplus.SetKeepAlivesEnabled(false)
	w.serve(surplus, split.Beyond(), c.TLS)
	return w, nil
}

// newServer returns a server for HTTP/1.1: the limits count one request per connection.
func newServer(handler http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: closing(handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, Protocols: &protocols,
	}
}

// closing ends the connection after a request with Transfer-Encoding. Such a request may have had a
// Content-Length, too, which net/http removes: after it nobody knows where the next request begins
// (RFC 9112, section 6.1).
func closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func (w *Server) serve(server *http.Server, on net.Listener, tls *Certificate) {
	w.servers = append(w.servers, server)
	serve := func() error { return server.Serve(on) }
	if tls != nil {
		serve = func() error { return server.ServeTLS(on, tls.Cert, tls.Key) }
	}
	go func() { w.done <- serve() }()
}

// Stop accepts no new requests. It waits for running requests, for a time at most, and then closes
// their connections.
func (w *Server) Stop(within time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, server := range w.servers {
		stopped := server.Shutdown(ctx)
		if stopped != nil {
			stopped = errors.Join(stopped, server.Close())
		}
		err = errors.Join(err, stopped)
	}
	for range w.servers {
		served := <-w.done // the first server to stop closes the other's listener, too
		if !errors.Is(served, http.ErrServerClosed) && !errors.Is(served, net.ErrClosed) {
			err = errors.Join(err, served)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) { // connections that had to be cut are no failure of the stop
		return nil
	}
	return err
}
