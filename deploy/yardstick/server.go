package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	apiVersion = "2.4"
	maxBody    = 256 << 10
)

type server struct {
	store       *store
	payments    creator
	relay       *relay
	apiKey      []byte
	cpuSeconds  func(context.Context) (float64, error)
	registering sync.Mutex // one at a time
}

// creator makes payments: with a processor or without.
type creator interface {
	create(ctx context.Context, key string, c creation) (document []byte, err error)
}

func newServer(s *store, payments creator, r *relay, apiKey string, cpuSeconds func(context.Context) (float64, error)) http.Handler {
	v := &server{store: s, payments: payments, relay: r, apiKey: []byte(apiKey), cpuSeconds: cpuSeconds}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /payments", v.authenticated(v.create))
	routes.HandleFunc("GET /payments/{id}", v.authenticated(v.read))
	routes.HandleFunc("POST /management/webhook-endpoints", v.authenticated(v.register))
	routes.HandleFunc("DELETE /management/webhook-endpoints/{id}", v.authenticated(v.remove))
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(`{"status":"ok"}`)) })
	routes.HandleFunc("GET /metrics", v.metrics)
	return routes
}

// refusal is an error with its place in the contract (§7, D3).
type refusal struct {
	status  int
	id      string
	message string
}

func (r *refusal) Error() string { return r.message }

// authenticated checks the headers of §5.1, and answers errors.
func (v *server) authenticated(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch {
		case subtle.ConstantTimeCompare([]byte(r.Header.Get("X-API-KEY")), v.apiKey) != 1:
			err = &refusal{http.StatusUnauthorized, "Unauthorized", "The header X-API-KEY is missing, or its key is not known."}
		case strings.HasPrefix(r.URL.Path, "/management/"): // D20: no version
			err = handle(w, r)
		case r.Header.Get("X-API-VERSION") == "":
			err = &refusal{http.StatusBadRequest, "ApiVersionMissing", "The header X-API-VERSION is missing; it must be " + apiVersion + "."}
		case r.Header.Get("X-API-VERSION") != apiVersion:
			err = &refusal{http.StatusBadRequest, "ApiVersionNotSupported", "The header X-API-VERSION must be " + apiVersion + "."}
		default:
			err = handle(w, r)
		}
		if err != nil {
			fail(r.Context(), w, err)
		}
	}
}

func (v *server) create(w http.ResponseWriter, r *http.Request) error {
	key := r.Header.Get("X-Idempotency-Key")
	if len(key) > 255 {
		return invalid("X-Idempotency-Key must have at most 255 bytes")
	}
	var c creation
	if err := decode(w, r, &c); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return invalid(err.Error())
	}
	document, err := v.payments.create(r.Context(), key, c)
	if err != nil {
		return err
	}
	write(w, document)
	return nil
}

func (v *server) read(w http.ResponseWriter, r *http.Request) error {
	unknown := &refusal{http.StatusBadRequest, "PaymentError", "The payment cannot be found."}
	id, ok := parseID(r.PathValue("id"))
	if !ok {
		return unknown
	}
	document, err := v.store.payment(r.Context(), id)
	if err != nil {
		return err
	}
	if document == nil {
		return unknown
	}
	write(w, document)
	return nil
}

func (v *server) register(w http.ResponseWriter, r *http.Request) error {
	now := time.Now().UTC()
	e := endpoint{EventTypes: []string{}}
	if err := decode(w, r, &e); err != nil {
		return err
	}
	if u, err := url.Parse(e.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return invalid("url must begin with http:// or https:// and name a host")
	}
	for _, kind := range e.EventTypes {
		if kind != statusEvent {
			return invalid("eventTypes may have only " + statusEvent)
		}
	}
	e.ID, e.Enabled, e.CreatedAt = newID(now), true, now.Format(timeFormat)
	v.registering.Lock()
	defer v.registering.Unlock()
	if err := v.store.register(r.Context(), e, now); err != nil {
		return err
	}
	if err := v.reload(r.Context()); err != nil {
		return err
	}
	answer, err := json.Marshal(e)
	if err != nil {
		return err
	}
	write(w, answer)
	return nil
}

func (v *server) remove(w http.ResponseWriter, r *http.Request) error {
	v.registering.Lock()
	defer v.registering.Unlock()
	id, ok := parseID(r.PathValue("id"))
	if ok {
		var err error
		if ok, err = v.store.remove(r.Context(), id); err != nil {
			return err
		}
	}
	if !ok {
		return &refusal{http.StatusNotFound, "EntityNotFound", "The endpoint cannot be found."}
	}
	if err := v.reload(r.Context()); err != nil {
		return err
	}
	write(w, []byte("{}"))
	return nil
}

func (v *server) reload(ctx context.Context) error {
	all, err := v.store.endpoints(ctx)
	if err == nil {
		v.relay.use(all)
	}
	return err
}

func (v *server) metrics(w http.ResponseWriter, r *http.Request) {
	seconds, err := v.cpuSeconds(r.Context())
	if err != nil {
		fail(r.Context(), w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintf(w, "# HELP process_cpu_seconds_total Processor time of yardstick and its PostgreSQL servers.\n"+
		"# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.6f\n", seconds)
}

func decode(w http.ResponseWriter, r *http.Request, into any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(into); err != nil {
		return &refusal{http.StatusBadRequest, "MalformedJson", "The body must be one JSON object: " + err.Error()}
	}
	return nil
}

func invalid(message string) error {
	return &refusal{http.StatusUnprocessableEntity, "RequestValidationError", message}
}

func write(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may have gone
}

type failure struct {
	ErrorID       string `json:"errorId"`
	Description   string `json:"description"`
	DiagnosticsID uuid   `json:"diagnosticsId"`
	PaymentID     *uuid  `json:"paymentId,omitempty"`
	PaymentStatus string `json:"paymentStatus,omitempty"`
}

func fail(ctx context.Context, w http.ResponseWriter, err error) {
	status, detail := http.StatusInternalServerError, failure{
		ErrorID: "InternalServerError", Description: "The request failed.", DiagnosticsID: newID(time.Now()),
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		status, detail.ErrorID, detail.Description = refused.status, refused.id, refused.message
	} else if earlier, ok := errors.AsType[*repeated](err); ok {
		status, detail.ErrorID, detail.Description = http.StatusConflict, "IdempotencyKeyAlreadyExists", "The X-Idempotency-Key was used."
		detail.PaymentID, detail.PaymentStatus = &earlier.id, earlier.status
	} else if ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "yardstick:", detail.DiagnosticsID, err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]failure{"error": detail}) // the client may have gone
}
