package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"payledger/deploy/connectors/adyen/api"
	"payledger/processorsim/connector"
)

// patience is how long calls of Adyen may take at the end of the program.
const patience = 30 * time.Second

func main() {
	s, err := parse(os.Args[1:], os.LookupEnv)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		err = run(ctx, s, os.Stdout, zerolog.New(os.Stderr).With().Timestamp().Logger())
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "adyen:", err)
		os.Exit(1)
	}
}

// ready is the line on stdout.
type ready struct {
	Ready  bool   `json:"ready"`
	URL    string `json:"url"`    // for the ledger's --processor ADYEN=…
	Events string `json:"events"` // for Adyen's standard webhook, on this address
	PID    int    `json:"pid"`
	Live   bool   `json:"live"` // real money
}

// run serves the connector until ctx ends.
func run(ctx context.Context, s settings, out io.Writer, log zerolog.Logger) error {
	s.vendor.Log = log
	vendor, err := api.New(s.vendor)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	k, err := connector.New(ctx, connector.Config{Name: s.processor, Vendor: vendor, Dir: s.data, Secret: s.notificationSecret, Token: s.token, Log: log})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/", k.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"ok"}`)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: nothing()}
	url := "http://" + listener.Addr().String()
	serve := func() error { return server.Serve(listener) }
	if s.tlsCert != "" {
		url = "https://" + listener.Addr().String()
		serve = func() error { return server.ServeTLS(listener, s.tlsCert, s.tlsKey) }
	}
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	line, err := json.Marshal(ready{Ready: true, URL: url, Events: url + connector.EventsPath, PID: os.Getpid(), Live: vendor.Declaration().Live})
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", line)
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-ended:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err = errors.Join(err, k.Close(last))
	if stopped := server.Shutdown(last); stopped != nil {
		return errors.Join(err, server.Close())
	}
	return err
}
