package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"payledger/deploy/connectors/stripe/double"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stripe-double:", err)
		os.Exit(1)
	}
}

// program is a running stripe-double.
type program struct {
	*double.Double
	mu     sync.Mutex
	events string // the receiver's address
}

func run(ctx context.Context, args []string, out io.Writer) error {
	set := flag.NewFlagSet("stripe-double", flag.ContinueOnError)
	listen := set.String("listen", "127.0.0.1:0", "")
	p := &program{}
	set.StringVar(&p.events, "events", "", "")
	secret := set.String("webhook-secret", "whsec_double", "")
	if err := set.Parse(args); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(*listen)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return errors.New("--listen must be a loopback address: this is no Stripe")
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	base := "http://" + listener.Addr().String()
	p.Double = double.New(double.Config{Base: base, WebhookSecret: *secret})
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.send(ctx)
	}()
	_, err = fmt.Fprintf(out, `{"ready":true,"api":%q,"pid":%d}`+"\n", base, os.Getpid())
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-ended:
		}
	}
	err = errors.Join(err, server.Close())
	<-done
	return err
}

// send sends events, one after the other, until ctx ends.
func (p *program) send(ctx context.Context) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	client := &http.Client{Timeout: 10 * time.Second}
	var left []*double.Event
	for again := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		to := p.events
		p.mu.Unlock()
		if to == "" || time.Now().Before(again) {
			continue
		}
		left = append(left, p.Undelivered()...)
		for len(left) > 0 {
			if status, err := p.Deliver(ctx, client, to, left[0]); err != nil || status < 200 || status > 299 {
				again = time.Now().Add(time.Second)
				break
			}
			left = left[1:]
		}
	}
}

func (p *program) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", p.Handler())
	mux.Handle("/customer/", p.Handler())
	order(mux, "events", func(o struct{ URL string }) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = o.URL
	})
	order(mux, "faults", func(f double.Fault) { p.Order(&f) })
	order(mux, "flush", func(struct{}) { p.Flush() })
	order(mux, "settle", func(struct{}) { p.Settle() })
	order(mux, "disputes", func(o struct {
		ID, Status string
		Evidence   int64
		Late       bool
	}) {
		p.Rule(o.ID, o.Status, o.Evidence, o.Late)
	})
	mux.HandleFunc("GET /double/books", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(p.ByReference()) })
	return mux
}

// order adds an endpoint of the control API.
func order[T any](mux *http.ServeMux, name string, do func(T)) {
	mux.HandleFunc("POST /double/"+name, func(w http.ResponseWriter, r *http.Request) {
		var o T
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&o); err != nil && !errors.Is(err, io.EOF) {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		do(o)
	})
}
