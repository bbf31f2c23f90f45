package adapter

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"payledger/processorsim/protocol"
)

// Connection is the way to the processors at one address.
type Connection struct {
	URL   string         // http or https, without query and fragment. A user and a password in it are sent with every call, and shown nowhere
	Token string         // sent with every call as a bearer; "": none
	CAs   *x509.CertPool // the authorities that may sign the processor's certificate; nil: the system's
	// Calls bounds the operations at once, and the questions at once; further calls wait for a
	// place. 0: no bound.
	Calls int
	// Timeout bounds one call, from its place on, except a list by time, which has any length.
	// After it the outcome is unknown. 0: only the caller's context bounds it.
	Timeout time.Duration
	// ListPause bounds the time before the header of a list by time, before its first element, and
	// between two elements. The time that the caller takes for an element does not count. 0:
	// DefaultListPause.
	ListPause time.Duration
	// Exchanged gets the end of each exchange over the connection: nil for an answer, a refusal
	// included. An exchange that the caller gave up is not one. nil: nobody does.
	Exchanged func(error)
	// Unfit gets each answer to an operation, a look-up or a fence that was received whole and
	// cannot be an answer to it, as an error without a value of its body. nil: nobody does.
	Unfit func(error)
}

// DefaultListPause is longer than a connector needs for its first element. It may read all of its
// vendor's list before, a hundred payments a page, and some weeks more than the ledger requested.
const DefaultListPause = time.Hour

// Errors of an exchange; each wraps ErrUnknown. All others mean that the processor did not answer.
var (
	// ErrRefused means that the processor answered with a refusal: it has not carried out the
	// request as it was sent.
	ErrRefused = errors.New("the processor refused the request")
	// ErrUnfit means that the processor's answer came whole, and cannot be the answer to the
	// request; also that the processor knows the key for another operation.
	ErrUnfit = errors.New("the answer does not fit the request")
	// ErrMisconfigured means that the processor does not accept the ledger's token, or is not the
	// one of that name.
	ErrMisconfigured = errors.New("the connection to the processor is not configured as the processor expects")
)

// New returns an adapter of the processors at baseURL ("http://127.0.0.1:8090"). nil: a client with
// no timeout except the context's.
func New(baseURL string, httpClient *http.Client) (*Adapter, error) {
	c, err := Open(Connection{URL: baseURL})
	if err == nil && httpClient != nil {
		c.http = httpClient
	}
	return c, err
}

// Open returns an adapter of the processors at a connection. It makes no call.
func Open(c Connection) (*Adapter, error) {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the processor URL is not an http or https address without query and fragment") // it may hold a password
	}
	a := &Adapter{http: newHTTPClient(c.CAs), exchanged: c.Exchanged, unfit: c.Unfit, timeout: c.Timeout, listPause: cmp.Or(c.ListPause, DefaultListPause), token: c.Token, user: u.User}
	u.User = nil
	a.base, a.path = strings.TrimSuffix(u.String(), "/"), strings.TrimSuffix(u.EscapedPath(), "/")
	if c.Calls > 0 {
		a.operations, a.questions = make(places, c.Calls), make(places, c.Calls)
	}
	return a, nil
}

// newHTTPClient returns a client with enough idle connections that a busy service never waits for a
// handshake.
func newHTTPClient(authorities *x509.CertPool) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               nil, // D14.1: straight to the processor
			DialContext:         dialer.DialContext,
			TLSClientConfig:     &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
			MaxIdleConns:        0, // bounded per host
			MaxIdleConnsPerHost: 512,
			IdleConnTimeout:     30 * time.Second, // below servers' timeouts, so that few connections are dead
			TLSHandshakeTimeout: 5 * time.Second,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close ends the connections that are idle.
func (c *Adapter) Close() { c.http.CloseIdleConnections() }

// places bound the calls at once; nil: no bound.
type places chan struct{}

// enter waits for a place until ctx ends. leave gives the place back.
func (p places) enter(ctx context.Context) (leave func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	select {
	case p <- struct{}{}:
		return func() { <-p }, nil
	default:
	}
	select {
	case p <- struct{}{}:
		return func() { <-p }, nil
	case <-ctx.Done():
		return nil, unknown("not sent: all %d places for calls of this processor are taken: %w", cap(p), ctx.Err())
	}
}

// bound ends an exchange after a time without a renewal. The zero value is no bound.
type bound struct {
	limit time.Duration
	timer *time.Timer
}

// start returns the context of an exchange, which ends at the bound.
func (b *bound) start(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.limit <= 0 {
		return ctx, func() {}
	}
	own, cancel := context.WithCancel(ctx)
	b.timer = time.AfterFunc(b.limit, cancel)
	return own, func() { b.timer.Stop(); cancel() }
}

// renew begins the time again. rest stops it until then.
func (b *bound) renew() {
	if b.timer != nil {
		b.timer.Reset(b.limit)
	}
}

func (b *bound) rest() {
	if b.timer != nil {
		b.timer.Stop()
	}
}

// exchange sends r once, and calls read with the response. It ends at the bound. The places bound
// operations apart from questions: look-ups go on while operations hang.
func (c *Adapter) exchange(r *http.Request, b *bound, read func(*http.Response) error) error {
	places := c.questions
	if r.Header.Get(protocol.HeaderIdempotencyKey) != "" {
		places = c.operations
	}
	leave, err := places.enter(r.Context())
	if err != nil {
		return err // no exchange: the processor may be well
	}
	defer leave()
	ctx, stop := b.start(r.Context())
	defer stop()
	err = c.sendOnce(r.WithContext(ctx), read)
	given := r.Context().Err()
	if err != nil && given == nil && ctx.Err() != nil {
		err = unknown("%s: no answer within %s: %w", c.call(r), b.limit, context.DeadlineExceeded)
	}
	if c.exchanged != nil && (err == nil || !errors.Is(given, context.Canceled)) {
		c.exchanged(err)
	}
	return err
}

func (c *Adapter) sendOnce(r *http.Request, read func(*http.Response) error) error {
	switch password, _ := c.user.Password(); {
	case c.token != "":
		r.Header.Set("Authorization", "Bearer "+c.token)
	case c.user != nil:
		r.SetBasicAuth(c.user.Username(), password)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return unknown("%s: %w", c.call(r), withoutURL(err))
	}
	defer response.Body.Close()
	return read(response)
}

// credentials returns what a request has of the connection's secrets, in every form.
func (c *Adapter) credentials() []string {
	if c.user == nil {
		return []string{c.token}
	}
	password, _ := c.user.Password()
	return []string{c.token, base64.StdEncoding.EncodeToString([]byte(c.user.Username() + ":" + password)), password, c.user.Username()}
}

// call names a call in errors, without the address: its path may hold a secret.
type call struct {
	r      *http.Request
	prefix string // of the path, which belongs to the address
}

func (c *Adapter) call(r *http.Request) call { return call{r, c.path} }

func (c call) String() string {
	return c.r.Method + " " + strings.TrimPrefix(c.r.URL.EscapedPath(), c.prefix)
}

// withoutURL returns the reason of an error of http.Client without the address.
func withoutURL(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}
