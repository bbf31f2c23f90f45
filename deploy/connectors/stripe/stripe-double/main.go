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

	"github.com/rs/zerolog"

	"payledger/deploy/connectors/stripe/api"
	"payledger/deploy/connectors/stripe/double"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/connector/program"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != "alone" {
		withConnector().Main()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := alone(ctx, os.Args[2:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stripe-double:", err)
		os.Exit(1)
	}
}

// webhookSecret signs events.
const webhookSecret = "whsec_double"

// withConnector returns the program of the connector, with Stripe behind it.
func withConnector() *program.Program {
	s := &stripe{}
	p := program.New("stripe-double", processor.Stripe, "127.0.0.1:0")
	listen := p.Flags.String("api-listen", "127.0.0.1:0", "`ADDRESS` of Stripe, for its control API")
	p.Vendor = func(zerolog.Logger) (connector.Vendor, error) {
		if err := s.open(context.Background(), *listen, webhookSecret); err != nil {
			return nil, err
		}
		go s.send(context.Background())
		return api.New(api.Config{Key: "sk_test_double", WebhookSecrets: []string{webhookSecret}, Base: s.Base, Multicapture: true})
	}
	p.Started = func(r program.Ready) { s.sendTo(r.Events) }
	return p
}

// stripe is Stripe on a port.
type stripe struct {
	*double.Double
	server *http.Server
	ended  chan error

	mu     sync.Mutex
	events string // the receiver's address
}

func (s *stripe) open(ctx context.Context, address, secret string) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return errors.New("the address of Stripe must be a loopback address: this is no Stripe")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	s.Double = double.New(double.Config{Base: "http://" + listener.Addr().String(), WebhookSecret: secret})
	s.server, s.ended = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}, make(chan error, 1)
	go func() { s.ended <- s.server.Serve(listener) }()
	return nil
}

// alone serves Stripe until ctx ends.
func alone(ctx context.Context, args []string, out io.Writer) error {
	set := flag.NewFlagSet("stripe-double alone", flag.ContinueOnError)
	s := &stripe{}
	listen := set.String("listen", "127.0.0.1:0", "")
	set.StringVar(&s.events, "events", "", "")
	secret := set.String("webhook-secret", webhookSecret, "")
	if err := set.Parse(args); err != nil {
		return err
	}
	if err := s.open(ctx, *listen, *secret); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.send(ctx)
	}()
	_, err := fmt.Fprintf(out, `{"ready":true,"api":%q,"pid":%d}`+"\n", s.Base, os.Getpid())
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-s.ended:
		}
	}
	err = errors.Join(err, s.server.Close())
	<-done
	return err
}

func (s *stripe) sendTo(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = url
}

// send sends events, one after the other, until ctx ends.
func (s *stripe) send(ctx context.Context) {
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
		s.mu.Lock()
		to := s.events
		s.mu.Unlock()
		if to == "" || time.Now().Before(again) {
			continue
		}
		left = append(left, s.Undelivered()...)
		for len(left) > 0 {
			if status, err := s.Deliver(ctx, client, to, left[0]); err != nil || status < 200 || status > 299 {
				again = time.Now().Add(time.Second)
				break
			}
			left = left[1:]
		}
	}
}

func (s *stripe) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.Handler())
	mux.Handle("/customer/", s.Handler())
	order(mux, "events", func(o struct{ URL string }) { s.sendTo(o.URL) })
	order(mux, "faults", func(f double.Fault) { s.Order(&f) })
	order(mux, "flush", func(struct{}) { s.Flush() })
	order(mux, "settle", func(struct{}) { s.Settle() })
	order(mux, "disputes", func(o struct {
		ID, Status string
		Evidence   int64
		Late       bool
	}) {
		s.Rule(o.ID, o.Status, o.Evidence, o.Late)
	})
	mux.HandleFunc("GET /double/books", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s.ByReference()) })
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
