package sender

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"payledger/domain"
	"payledger/notifier/delivery"
	"payledger/notifier/guard"
	"payledger/notifier/listener"
	"payledger/notifier/signature"
	"payledger/notifier/statusline"
)

const (
	// DefaultTimeout is the time limit of one attempt (§6.1, §8).
	DefaultTimeout = 10 * time.Second
	userAgent      = "payledger-webhooks/1"
	// AnswerTime bounds the reading of an answer behind its status line, and answerLimit the bytes
	// of its body. The status line alone decides the outcome. The sender reads the body for the
	// excerpt, and to reuse the connection.
	AnswerTime  = time.Second
	answerLimit = 16 << 10
	// HeaderLimit bounds the part of an answer's header that is read.
	HeaderLimit = 64 << 10
	// idleTime is short: common servers close idle connections after 5 s, and a POST sent at that
	// moment would be lost.
	idleTime        = 3 * time.Second
	idleConnections = 32
)

// Config is the configuration of a sender.
type Config struct {
	Guard   guard.Guard
	Timeout time.Duration // of one attempt
	Now     func() time.Time
	// Listeners receive messages with a Listener; nil: there are no readers.
	Listeners *listener.Hub
	// Dial opens connections; nil: TCP to the addresses that the guard allows.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Sender makes attempts.
type Sender struct {
	Config
	gate   *gate
	client *http.Client
}

// New returns a sender.
func New(c Config) *Sender {
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: c.Timeout, Control: c.Guard.Control, Resolver: c.Guard.Resolver}).DialContext
	}
	open, gate := dial(c.Dial), newGate()
	return &Sender{Config: c, gate: gate, client: &http.Client{
		// A redirect counts as a failure: its target could be an address that the guard refuses
		// (§6.1, D18).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil, // never from the environment: a proxy resolves names itself
			DialContext:            open.plain(gate),
			DialTLSContext:         open.tls(gate, cmp.Or(c.Timeout, DefaultTimeout)),
			DisableCompression:     true, // the excerpt's limit counts the bytes that were sent
			MaxResponseHeaderBytes: HeaderLimit,
			MaxIdleConnsPerHost:    idleConnections,
			IdleConnTimeout:        idleTime,
		},
	}}
}

func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Settle waits for the first bytes of requests whose Message.Fresh has already returned nil.
func (s *Sender) Settle() { s.gate.pass() }

// Attempt signs the message and sends it once. It returns an error if it cannot render the body,
// ErrNotSent if the message is not fresh any more, or ctx's error if ctx ends first. A receiver's
// failure is no error.
func (s *Sender) Attempt(ctx context.Context, m Message) (delivery.Attempt, error) {
	start := s.Now()
	body, err := m.Body(start)
	if err != nil {
		return delivery.Attempt{}, fmt.Errorf("notifier: payload: %w", err)
	}
	send := s.post
	if m.Listener != "" {
		send = s.handOver
	}
	got, err := send(ctx, m, body)
	switch {
	case errors.Is(err, ErrNotSent):
		return delivery.Attempt{}, err
	case err != nil && ctx.Err() != nil:
		return delivery.Attempt{}, ctx.Err()
	}
	a := delivery.Attempt{
		StartedAt: start.UTC().Truncate(time.Microsecond), Duration: s.Now().Sub(start).Microseconds(),
		StatusCode: got.status, Excerpt: excerpt(got.start, m),
	}
	if err == nil {
		a.Duration = got.at.Sub(start).Microseconds()
	}
	for _, k := range m.Keys {
		a.Keys = append(a.Keys, string(k.Name))
	}
	switch {
	case err != nil:
		a.Failure = classify(err)
	case got.status < 200 || got.status > 299:
		a.Failure = delivery.FailureStatus
	}
	return a, nil
}

type reply struct {
	status int
	at     time.Time // of the status line
	start  []byte    // of the body
}

// headers calls set with each header of a message, signed (§5.2).
func headers(m Message, body []byte, set func(name, value string)) {
	set("Content-Type", "application/json")
	set("User-Agent", userAgent)
	if m.IdempotencyKey != "" {
		set(idempotencyKey, m.IdempotencyKey)
	}
	for i, k := range m.Keys[:min(len(m.Keys), len(signatureHeaders))] {
		set(signatureHeaders[i], signature.Sign(k.Text, body))
	}
}

// idempotencyKey is the name of the header as net/http writes it.
const idempotencyKey = "Idempotency-Key"

// sendOnce makes net/http send a request once. net/http sends a request with an idempotency key
// again if a reused connection ends before the answer: the receiver would get a second request that
// no attempt records. net/http finds the header by its canonical spelling only; receivers compare
// names of headers without regard to case. Without GetBody, the other way, net/http could not use
// another connection for a request of which it has written nothing.
func sendOnce(header http.Header) {
	if key := header.Values(idempotencyKey); len(key) > 0 {
		header.Del(idempotencyKey)
		header[strings.ToLower(idempotencyKey)] = key
	}
}

var signatureHeaders = []string{signature.HeaderPrimary, signature.HeaderSecondary}

// post sends the body. It returns an error if no status line arrived.
func (s *Sender) post(ctx context.Context, m Message, body []byte) (got reply, err error) {
	if _, err := s.Guard.Parse(m.URL); err != nil {
		return got, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	exchange := &exchange{check: m.Fresh, stop: stop, line: statusline.Line{Now: s.Now, Found: func() { time.AfterFunc(AnswerTime, cancel) }}}
	ctx = exchange.of(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(body))
	if err != nil {
		return got, fmt.Errorf("%w: %w", guard.ErrRefused, err)
	}
	headers(m, body, request.Header.Set)
	sendOnce(request.Header)
	response, err := s.client.Do(request)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrNotSent) {
		return got, cause
	}
	if code, at, answered := exchange.line.Status(); err != nil && answered { // net/http refuses the header that follows
		return reply{status: code, at: at}, nil
	}
	if err != nil {
		return got, err
	}
	got = reply{status: response.StatusCode, at: s.Now()}
	defer func() { _ = response.Body.Close() }() // the body does not change the outcome
	if got.status == http.StatusSwitchingProtocols {
		return got, nil // the following bytes are not a body, and no deadline ends the read
	}
	got.start, _ = io.ReadAll(io.LimitReader(response.Body, ExcerptLimit))
	_, _ = io.CopyN(io.Discard, response.Body, answerLimit)
	return got, nil
}

func classify(err error) delivery.Failure {
	var (
		dns         *net.DNSError
		op          *net.OpError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		timeout     net.Error
	)
	if failure, is := listenerFailure(err); is {
		return failure
	}
	switch {
	case errors.Is(err, guard.ErrRefused):
		return delivery.FailureAddress
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &alert):
		return delivery.FailureTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return delivery.FailureTimeout
	case errors.As(err, &dns):
		return delivery.FailureDNS
	case errors.Is(err, syscall.ECONNREFUSED):
		return delivery.FailureRefused
	case errors.As(err, &op) && op.Op == "dial":
		return delivery.FailureUnreached
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &op):
		return delivery.FailureConnection
	default:
		return delivery.FailureProtocol
	}
}

// Key is a signing secret.
type Key struct {
	Name domain.SecretID
	Text string // never logged
}

// Fixed returns a Message.Body that is the same at all times.
func Fixed(body []byte) func(time.Time) ([]byte, error) {
	return func(time.Time) ([]byte, error) { return body, nil }
}

// Message is one request to a receiver.
type Message struct {
	URL  string
	Keys []Key // the current secret, the previous one while it is valid (§5.2 rule 3), and a listener's own; none: not signed
	// Body returns the body for an attempt at a time.
	Body           func(signedAt time.Time) ([]byte, error)
	Private        domain.Personal // personal data in the body
	IdempotencyKey string          // of a workflow's request (D19)
	Request        string          // correlation id of the event that the message tells about; it is not sent
	// Fresh returns an error if the message must not be sent any more. It is called before the
	// first byte, does not wait, and may be called again; nil: always fresh.
	Fresh func() error

	// Listener is the lane of a listener, whose reader takes the message instead of the receiver at
	// the URL; "": it is posted.
	Listener string
	// About describes the message for the reader.
	About listener.Request
}
