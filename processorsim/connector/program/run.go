package program

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/processor"
	"payledger/processorsim/connector"
)

// patience is how long calls of the vendor may take at the end of the program.
const patience = 30 * time.Second

// Ready is the line on stdout when the connector answers.
type Ready struct {
	Ready     bool           `json:"ready"`     // true
	Processor processor.Name `json:"processor"` // for the ledger's --processor PROCESSOR=URL
	URL       string         `json:"url"`
	Events    string         `json:"events"` // for the vendor's messages
	PID       int            `json:"pid"`
	Live      bool           `json:"live"` // real money
}

// Run serves the connector until ctx ends. It follows Parse.
func (p *Program) Run(ctx context.Context, out io.Writer, logs zerolog.Logger) error {
	vendor, err := p.Vendor(logs)
	if err != nil {
		return err
	}
	live := vendor.Declaration().Live
	if err := p.checkBook(live); err != nil {
		return err
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // its messages repeat what clients sent
	}
	scheme, err := p.secure(server)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.listen)
	if err != nil {
		return err
	}
	k, err := connector.New(ctx, connector.Config{
		Name: processor.Name(p.processor), Vendor: vendor, Dir: p.data, Secret: []byte(p.signing), Token: p.token, Log: logs,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server.Handler = handler(k)
	ended := make(chan error, 1)
	go func() {
		if scheme == "https" {
			ended <- server.ServeTLS(listener, "", "")
		} else {
			ended <- server.Serve(listener)
		}
	}()
	url := scheme + "://" + listener.Addr().String()
	ready := Ready{
		Ready: true, Processor: processor.Name(p.processor), URL: url, Events: url + connector.EventsPath, PID: os.Getpid(), Live: live,
	}
	if p.Started != nil {
		p.Started(ready)
	}
	line, err := json.Marshal(ready)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", line)
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-ended:
		}
	}
	return errors.Join(err, end(ctx, k, server))
}

// secure gives the server its certificate, and returns the scheme of its addresses.
func (p *Program) secure(server *http.Server) (string, error) {
	if p.tlsCert == "" {
		return "http", nil
	}
	pair, err := tls.LoadX509KeyPair(p.tlsCert, p.tlsKey)
	if err != nil {
		return "", fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	return "https", nil
}

func handler(k *connector.Connector) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", k.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"ok"}`)
	})
	return mux
}

// end waits for calls of the vendor, then ends the server.
func end(ctx context.Context, k *connector.Connector, server *http.Server) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := k.Close(last)
	if server.Shutdown(last) != nil {
		return errors.Join(err, server.Close())
	}
	return err
}
