package conformance

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"payledger/domain"
	"payledger/processorsim/protocol"
)

// Exchange is a request to the connector and its answer, or a notification and the suite's answer,
// without secrets.
type Exchange struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Key     string `json:"idempotencyKey,omitempty"`
	Request string `json:"request,omitempty"`
	Status  int    `json:"status,omitempty"` // 0: no answer came
	Answer  string `json:"answer,omitempty"`
	Error   string `json:"error,omitempty"`

	raw       []byte // the answer as it came
	mediaType string
}

const (
	maxShown    = 2 << 10 // bytes of a body in a report
	maxCaptured = 4 << 20 // bytes of a body that are looked through
	maxLast     = 4       // exchanges of a report
	minHidden   = 8       // characters of a token that is looked for
)

// exchanges are the exchanges of one probe.
type exchanges struct {
	mu  sync.Mutex
	all []*Exchange
}

func (l *exchanges) add(e *Exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
}

func (l *exchanges) last() []Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	var shown []Exchange
	for _, e := range l.all[max(0, len(l.all)-maxLast):] {
		shown = append(shown, *e)
	}
	return shown
}

type logKey struct{}

func withLog(ctx context.Context, l *exchanges) context.Context {
	return context.WithValue(ctx, logKey{}, l)
}

type tokenKey struct{}

// withToken replaces the token of the requests with a context; "" sends none.
func withToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// recorder is the transport of all requests. It adds the token, keeps the exchanges, and looks for
// card data in answers.
type recorder struct {
	base     *http.Transport
	token    string
	hidden   string // the token, unless a text may have it by chance
	patience time.Duration

	mu      sync.Mutex
	numbers []string // of cards; never shown
	leaks   []string // paths of answers with card data
}

func newRecorder(base *http.Transport, token string, patience time.Duration) *recorder {
	hidden := ""
	if len(token) >= minHidden {
		hidden = token
	}
	return &recorder{base: base, token: token, hidden: hidden, patience: patience, numbers: []string{plainNumber, dividedNumber}}
}

func (t *recorder) client() *http.Client {
	last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: t, CheckRedirect: last, Timeout: t.patience}
}

// CloseIdleConnections closes the connections of the transport.
func (t *recorder) CloseIdleConnections() { t.base.CloseIdleConnections() }

// hide adds the numbers of test cards to those that are never shown.
func (t *recorder) hide(cards map[protocol.TestCase]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, number := range cards {
		t.numbers = append(t.numbers, number)
	}
}

// RoundTrip sends a request and keeps the exchange.
func (t *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	e := &Exchange{Method: r.Method, Path: r.URL.RequestURI(), Key: r.Header.Get(protocol.HeaderIdempotencyKey)}
	token := t.token
	if other, has := r.Context().Value(tokenKey{}).(string); has {
		token = other
	}
	r = r.Clone(r.Context())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body, r.GetBody = io.NopCloser(bytes.NewReader(body)), nil
		e.Request = t.masked(shown(body))
	}
	if log, has := r.Context().Value(logKey{}).(*exchanges); has {
		defer log.add(e)
	}
	answer, err := t.base.RoundTrip(r)
	if err != nil {
		e.Error = err.Error()
		return nil, err
	}
	e.Status, e.mediaType = answer.StatusCode, answer.Header.Get("Content-Type")
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxCaptured))
	t.take(e, body)
	if err != nil {
		e.Error = err.Error()
		answer.Body = cutBody{answer.Body, io.MultiReader(bytes.NewReader(body), failing{err})}
		return answer, nil
	}
	answer.Body = cutBody{answer.Body, io.MultiReader(bytes.NewReader(body), answer.Body)}
	return answer, nil
}

type cutBody struct {
	io.Closer
	io.Reader
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// take keeps the body of an answer. Only a declaration may name test cards.
func (t *recorder) take(e *Exchange, body []byte) {
	e.raw, e.Answer = body, t.masked(shown(body))
	if !declares(e) && t.telling(string(body)) {
		t.mu.Lock()
		t.leaks = append(t.leaks, e.Method+" "+t.maskedLocked(e.Path))
		t.mu.Unlock()
	}
}

func declares(e *Exchange) bool {
	path, _, _ := strings.Cut(e.Path, "?")
	return e.Method == http.MethodGet && strings.Count(strings.TrimPrefix(path, "/v1/processors/"), "/") == 0
}

func shown(body []byte) string {
	text := domain.Beginning(string(body), maxShown)
	if len(body) > maxShown {
		text += "…"
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// telling reports whether a text has the number of a card, the verification value as a value, or
// the ledger's token.
func (t *recorder) telling(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Contains(text, `"`+plainCVV+`"`) || t.hidden != "" && strings.Contains(text, t.hidden) ||
		slices.ContainsFunc(t.numbers, func(number string) bool { return strings.Contains(text, number) })
}

// masked returns a text without numbers and verification values of cards, and without the token.
func (t *recorder) masked(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.maskedLocked(text)
}

func (t *recorder) maskedLocked(text string) string {
	for _, number := range t.numbers {
		text = strings.ReplaceAll(text, number, strings.Repeat("*", len(number)-4)+number[len(number)-4:])
	}
	if t.hidden != "" {
		text = strings.ReplaceAll(text, t.hidden, "(token)")
	}
	return strings.ReplaceAll(text, `"`+plainCVV+`"`, `"***"`)
}
