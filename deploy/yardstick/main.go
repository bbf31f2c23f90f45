package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
)

type settings struct {
	data, listen, apiKey, signingSecret, postgresBin string
	pool                                             int
	standbys                                         int
	processor                                        string // URL of the processors; "": none
}

type ready struct {
	Ready         bool   `json:"ready"`
	API           string `json:"api"`
	PID           int    `json:"pid"`
	APIKey        string `json:"apiKey"`
	SigningSecret string `json:"signingSecret"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	debug.SetGCPercent(400) // the heap is small: collect less often
	s, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, s, os.Stdout)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "yardstick:", err)
		os.Exit(1)
	}
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("yardstick", flag.ContinueOnError)
	flags.StringVar(&s.data, "data", "", "folder of the database (required)")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "address of the API")
	flags.StringVar(&s.apiKey, "api-key", rand.Text(), "the API key; a random one if not set")
	flags.StringVar(&s.signingSecret, "signing-secret", rand.Text(), "signs webhooks; a random one if not set")
	flags.StringVar(&s.postgresBin, "postgres-bin", "", "folder of initdb and postgres; searched if not set")
	flags.IntVar(&s.pool, "pool", 32, "connections to PostgreSQL")
	flags.IntVar(&s.standbys, "standbys", 0, "synchronous standbys: a commit waits until any one has synced it")
	flags.StringVar(&s.processor, "processor", "", "URL of the processors, as payledger's --processor-url; none if not set")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case s.standbys < 0 || s.standbys > maxStandbys:
		return s, fmt.Errorf("--standbys must be from 0 to %d", maxStandbys)
	case s.pool < 1 || s.pool > maxPool:
		return s, fmt.Errorf("--pool must be from 1 to %d", maxPool)
	case s.processor != "" && !isAddress(s.processor):
		return s, errors.New("--processor must be like http://127.0.0.1:8082")
	}
	if s.data == "" || flags.NArg() > 0 {
		return s, errors.New("usage: yardstick --data DIR [flags]; yardstick -h lists the flags")
	}
	s.data, err = filepath.Abs(s.data)
	return s, err
}

const (
	maxStandbys = 5
	maxPool     = 1000
)

func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

func run(ctx context.Context, s settings, stdout io.Writer) (err error) {
	database, err := startPostgres(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.stop()) }()
	store, err := openStore(ctx, database.dsn(), s.pool)
	if err != nil {
		return err
	}
	defer store.close()
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // of the payments under way
	defer end()
	payments, err := openPayments(ctx, life, store, s.processor)
	if err != nil {
		return err
	}
	endpoints, err := store.endpoints(ctx)
	if err != nil {
		return err
	}
	relay := newRelay(store, s.signingSecret, endpoints)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return err
	}
	api := &http.Server{
		Handler:           newServer(store, payments, relay, s.apiKey, func(ctx context.Context) (float64, error) { return database.used(ctx, store.pool) }),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- api.Serve(listener) }()
	relaying, endRelay := context.WithCancel(ctx)
	relayed := make(chan struct{})
	go func() { defer close(relayed); relay.run(relaying) }()
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if failed := api.Shutdown(closing); failed != nil { // a commit may wait for a standby that has ended
			err = errors.Join(err, failed, api.Close())
		}
		end()
		endRelay()
		<-relayed
	}()
	line := ready{true, "http://" + listener.Addr().String(), os.Getpid(), s.apiKey, s.signingSecret}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	case gone := <-database.anyEnded():
		return fmt.Errorf("PostgreSQL ended by itself (%s): %s has the reason", gone.name, gone.log)
	}
}
