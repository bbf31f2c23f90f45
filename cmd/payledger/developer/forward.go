package developer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"payledger/httpapi/client"
	"payledger/notifier/signature"
	"payledger/notifier/statusline"
)

// incoming is a webhook of the stream (D20).
type incoming struct {
	ID       string            `json:"id"`
	Delivery string            `json:"deliveryId"`
	Kind     string            `json:"eventType"`
	Payment  string            `json:"paymentId"`
	Attempt  int               `json:"attempt"`
	Manual   bool              `json:"manual"`
	Headers  map[string]string `json:"headers"`
	Body     string            `json:"body"`
}

// subject returns what the webhook is about, with its status: a dispute, or else a payment.
func (w incoming) subject() string {
	var body struct {
		Payment struct {
			Status string `json:"status"`
		} `json:"payment"`
		Dispute string `json:"processorDisputeId"`
		Status  string `json:"status"` // of the dispute
	}
	_ = json.Unmarshal([]byte(w.Body), &body) // a body without these fields is about neither
	if body.Dispute != "" {
		return strings.TrimSpace(body.Dispute + "  " + body.Status)
	}
	return strings.TrimSpace(w.Payment + "  " + body.Payment.Status)
}

type answered struct {
	ID      string `json:"id"`
	Status  int    `json:"status,omitempty"`
	Failure string `json:"failure,omitempty"`
	Body    string `json:"body,omitempty"`
}

const bodyLimit = 512 // bytes of the program's answer that are reported

func (l *listening) take(ctx context.Context, w incoming) {
	header := http.Header{}
	for name, value := range w.Headers {
		header.Set(name, value)
	}
	verified := "verified ✓"
	if err := signature.Verify(signedByListener(header), []byte(w.Body), time.Now(), l.made.SigningSecret); err != nil {
		verified = "verified ✗ " + strings.TrimPrefix(err.Error(), "signature: ")
	}
	if own := header.Get(signature.HeaderListener); own != "" && own != header.Get(signature.HeaderSecondary) {
		l.rotated.Do(func() {
			l.print("The account's signing secret was rotated: for 24 hours %s is signed by the previous one, and the listener's secret signs in %s only.",
				signature.HeaderSecondary, signature.HeaderListener)
		})
	}
	began := time.Now()
	a := l.call(ctx, header, w)
	took := time.Since(began)
	if ctx.Err() != nil { // Ctrl-C: the webhook has no outcome
		return
	}
	reported := l.report(ctx, a)
	l.show(w, verified, a, took, reported)
}

// signedByListener returns the listener's own signature as the header that is verified. An older
// service has it in a usual header.
func signedByListener(header http.Header) http.Header {
	if own := header.Get(signature.HeaderListener); own != "" {
		return http.Header{signature.HeaderPrimary: {own}}
	}
	return header
}

func (l *listening) call(ctx context.Context, header http.Header, w incoming) answered {
	a := answered{ID: w.ID}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.target, strings.NewReader(w.Body))
	if err != nil {
		a.Failure = "UNREACHABLE"
		return a
	}
	request.Header = header
	line := &statusline.Line{}
	response, err := forwarding(line, l.within).Do(request)
	if code, _, answered := line.Status(); err != nil && answered { // net/http refuses the header that follows
		a.Status = code
		return a
	}
	if err != nil {
		a.Failure = failureOf(err)
		return a
	}
	defer response.Body.Close()
	a.Status = response.StatusCode
	text, _ := io.ReadAll(io.LimitReader(response.Body, bodyLimit)) // the status alone is the outcome
	a.Body = strings.ToValidUTF8(string(text), "")
	return a
}

// forwarding returns a client for one request. As the service does, it follows no redirect, and the
// status line decides (D18).
func forwarding(line *statusline.Line, within time.Duration) *http.Client {
	dialer := &net.Dialer{}
	return &http.Client{
		Timeout:       within,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := dialer.DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return line.Conn(c), nil
			},
			DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := (&tls.Dialer{NetDialer: dialer}).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return line.Conn(c), nil
			},
		},
	}
}

// failureOf returns the class of a failure without an answer (D18).
func failureOf(err error) string {
	var timeout net.Error
	var dns *net.DNSError
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "TIMEOUT"
	case errors.As(err, &dns):
		return "DNS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "CONNECTION_REFUSED"
	case errors.As(err, &certificate):
		return "TLS"
	case errors.As(err, &op) && op.Op == "dial":
		return "UNREACHABLE"
	case errors.Is(err, io.EOF), errors.As(err, &op):
		return "CONNECTION_LOST"
	default:
		return "PROTOCOL"
	}
}

// report sends the program's answer to the service, and returns a text if the service did not take
// it.
func (l *listening) report(ctx context.Context, a answered) string {
	err := l.api.Post(ctx, l.path("/answers"), a, nil)
	if apiErr, is := errors.AsType[*client.Error](err); is && apiErr.Status == http.StatusUnprocessableEntity && a.Body != "" { // its text may hold a card number
		a.Body = ""
		err = l.api.Post(ctx, l.path("/answers"), a, nil)
	}
	if err == nil || ctx.Err() != nil {
		return ""
	}
	return "the server did not take the answer: " + err.Error()
}

func (l *listening) show(w incoming, verified string, a answered, took time.Duration, problem string) {
	about := cmp.Or(w.Kind, "test message")
	switch {
	case w.Manual:
		about += " (sent again)"
	case w.Attempt > 1:
		about += fmt.Sprintf(" (attempt %d)", w.Attempt)
	}
	outcome := a.Failure
	if a.Status != 0 {
		outcome = fmt.Sprint(a.Status)
	}
	if a.Failure == "CONNECTION_REFUSED" {
		outcome += ": no program listens at " + l.target
	}
	line := fmt.Sprintf("%s  %-32s %-28s  %s  → %s  %.1f ms", time.Now().Format(time.TimeOnly), about, w.subject(), verified, outcome, float64(took.Microseconds())/1000)
	if problem != "" {
		line += "  (" + problem + ")"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.Delivery != "" {
		l.last = w.Delivery
	}
	fmt.Fprintln(l.out, safe(line))
	if l.body {
		l.printBody(w.Body)
	}
}

// printBody prints the body with indents. The caller holds the lock.
func (l *listening) printBody(body string) {
	var indented bytes.Buffer
	if json.Indent(&indented, []byte(body), "    ", "  ") != nil {
		indented.Reset()
		indented.WriteString(body)
	}
	for line := range strings.Lines(indented.String()) {
		fmt.Fprintln(l.out, "    "+safe(strings.TrimRight(line, "\n")))
	}
}
