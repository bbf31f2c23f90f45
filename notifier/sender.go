package notifier

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"payledger/notifier/signature"
)

const (
	// DefaultTimeout is how long a receiver may take for one attempt (§6.1, §8).
	DefaultTimeout = 10 * time.Second
	userAgent      = "payledger-webhooks/1"
	// answerLimit and answerTime bound what is read of an answer's body. The outcome is decided before it,
	// by the status line; it is read for the excerpt, and to use the connection again.
	answerLimit = 16 << 10
	answerTime  = time.Second
	// headerLimit bounds an answer's header.
	headerLimit = 64 << 10
	// idleTime is short: common servers close idle connections after 5 s, and a POST sent at that moment
	// would be lost.
	idleTime = 3 * time.Second
	// idleConnections are kept per host for the next webhook.
	idleConnections = 4 * laneAttempts
)

// Failure says why an attempt failed; "" is success.
type Failure string

// The classes of failed attempts.
const (
	FailureStatus     Failure = "STATUS"             // an answer came, but not 2xx (§6.1: 3xx too)
	FailureTimeout    Failure = "TIMEOUT"            // no status line in time
	FailureDNS        Failure = "DNS"                // the host's name could not be resolved
	FailureRefused    Failure = "CONNECTION_REFUSED" // nobody listens
	FailureUnreached  Failure = "UNREACHABLE"        // no connection for another reason
	FailureTLS        Failure = "TLS"                // the handshake or the certificate
	FailureConnection Failure = "CONNECTION_LOST"    // cut before the status line
	FailureProtocol   Failure = "PROTOCOL"           // what came is not HTTP
	FailureAddress    Failure = "ADDRESS_REFUSED"    // an address or URL that webhooks do not go to (D18)
)

// sender makes attempts.
type sender struct {
	guard   Guard
	client  *http.Client
	timeout time.Duration
	now     func() time.Time
}

func newSender(guard Guard, timeout time.Duration, now func() time.Time) *sender {
	dialer := &net.Dialer{Timeout: timeout, Control: guard.Control, Resolver: guard.Resolver}
	return &sender{guard: guard, timeout: timeout, now: now, client: &http.Client{
		// A redirect would lead where no guard has looked, and counts as a failure (§6.1, D18).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil, // never from the environment: a proxy resolves names itself
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			DisableCompression:     true, // an answer's size is what was sent
			MaxResponseHeaderBytes: headerLimit,
			MaxIdleConnsPerHost:    idleConnections,
			IdleConnTimeout:        idleTime,
		},
	}}
}

func (s *sender) close() { s.client.CloseIdleConnections() }

// attempt signs the message and sends it once. ctx cuts it short; then it did not end, and the error is
// ctx's.
func (s *sender) attempt(ctx context.Context, m message) (DeliveryAttempt, error) {
	start := s.now()
	body, err := m.signedAt(start)
	if err != nil {
		return DeliveryAttempt{}, fmt.Errorf("notifier: payload: %w", err)
	}
	got, err := s.post(ctx, m, body)
	if err != nil && ctx.Err() != nil {
		return DeliveryAttempt{}, ctx.Err()
	}
	a := DeliveryAttempt{
		StartedAt: start.UTC().Truncate(time.Microsecond), Duration: s.now().Sub(start).Microseconds(),
		StatusCode: got.status, Excerpt: excerpt(got.start, m),
	}
	if err == nil {
		a.Duration = got.at.Sub(start).Microseconds()
	}
	for _, k := range m.keys {
		a.Keys = append(a.Keys, string(k.name))
	}
	switch {
	case err != nil:
		a.Failure = classify(err)
	case got.status < 200 || got.status > 299:
		a.Failure = FailureStatus
	}
	return a, nil
}

// reply is what came back.
type reply struct {
	status int
	at     time.Time // of the status line
	start  []byte    // of the body
}

// signatureHeaders are the headers of a message's keys, in their order (§5.2).
var signatureHeaders = []string{signature.HeaderPrimary, signature.HeaderSecondary}

// post sends the body; an error when no status line came.
func (s *sender) post(ctx context.Context, m message, body []byte) (got reply, err error) {
	if _, err := s.guard.parse(m.url); err != nil {
		return got, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return got, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	if m.idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", m.idempotencyKey)
	}
	for i, k := range m.keys {
		request.Header.Set(signatureHeaders[i], signature.Sign(k.text, body))
	}
	response, err := s.client.Do(request)
	if err != nil {
		return got, err
	}
	got = reply{status: response.StatusCode, at: s.now()}
	defer func() { _ = response.Body.Close() }() // whatever comes of the body, it changes nothing
	if got.status == http.StatusSwitchingProtocols {
		return got, nil // what follows is no body, and nothing bounds the time that it takes
	}
	limit := time.AfterFunc(answerTime, cancel)
	defer limit.Stop()
	got.start, _ = io.ReadAll(io.LimitReader(response.Body, excerptLimit))
	_, _ = io.CopyN(io.Discard, response.Body, answerLimit)
	return got, nil
}

// classify finds the class of a failure without a status line.
func classify(err error) Failure {
	var (
		dns         *net.DNSError
		op          *net.OpError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
		timeout     net.Error
	)
	switch {
	case errors.Is(err, ErrRefused):
		return FailureAddress
	case errors.As(err, &certificate), errors.As(err, &record), errors.As(err, &alert):
		return FailureTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return FailureTimeout
	case errors.As(err, &dns):
		return FailureDNS
	case errors.Is(err, syscall.ECONNREFUSED):
		return FailureRefused
	case errors.As(err, &op) && op.Op == "dial":
		return FailureUnreached
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &op):
		return FailureConnection
	default:
		return FailureProtocol
	}
}
