package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// webServer is one listening HTTP server.
type webServer struct {
	url    string
	server *http.Server
	done   chan error
}

// tlsFiles are a certificate and its key.
type tlsFiles struct{ cert, key string }

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", address)
}

// serveWeb listens on address and serves handler.
func serveWeb(ctx context.Context, address string, handler http.Handler, tls *tlsFiles) (*webServer, error) {
	listener, err := listen(ctx, address)
	if err != nil {
		return nil, err
	}
	return serveOn(listener, handler, tls)
}

func serveOn(listener net.Listener, handler http.Handler, tls *tlsFiles) (*webServer, error) {
	w := &webServer{
		url:    "http://" + listener.Addr().String(),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute},
		done:   make(chan error, 1),
	}
	serve := func() error { return w.server.Serve(listener) }
	if tls != nil {
		w.url = "https://" + listener.Addr().String()
		serve = func() error { return w.server.ServeTLS(listener, tls.cert, tls.key) }
	}
	go func() { w.done <- serve() }()
	return w, nil
}

// stop takes no new requests and waits for those under way until ctx ends; then it cuts them.
func (w *webServer) stop(ctx context.Context) error {
	err := w.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, w.server.Close())
	}
	if served := <-w.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
