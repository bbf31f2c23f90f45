package connector

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// wire is between the service and a connector.
type wire struct {
	url    string
	server *http.Server
	next   *httputil.ReverseProxy
	lose   atomic.Bool // the answer to the next operation
}

func newWire(ctx context.Context, to string) (*wire, error) {
	target, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{url: "http://" + listener.Addr().String()}
	w.next = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: &http.Transport{}, ErrorLog: log.New(io.Discard, "", 0),
	}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: 5 * time.Second, ErrorLog: w.next.ErrorLog}
	go w.server.Serve(listener) //nolint:errcheck // ends with close
	return w, nil
}

func (w *wire) close() error {
	err := w.server.Close()
	w.next.Transport.(*http.Transport).CloseIdleConnections()
	return err
}

// ServeHTTP passes a request on. An answer that is to be lost stays here until the service has
// given up.
func (w *wire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	operation := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/operations")
	if !operation || !w.lose.CompareAndSwap(true, false) {
		w.next.ServeHTTP(out, r)
		return
	}
	w.next.ServeHTTP(lost{http.Header{}}, r)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// lost is an answer that nobody gets.
type lost struct{ header http.Header }

func (l lost) Header() http.Header            { return l.header }
func (l lost) Write(text []byte) (int, error) { return len(text), nil }
func (l lost) WriteHeader(int)                {}
