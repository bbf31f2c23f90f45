package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// APIVersion is the version of the API that the client speaks (§9).
const APIVersion = "2.4"

const (
	maxAttempts = 4
	firstWait   = 200 * time.Millisecond
	longestWait = 5 * time.Second
)

// Client calls the API of one server with one API key. The zero value of the other fields is
// usable.
type Client struct {
	URL    string // of the server
	APIKey string
	HTTP   *http.Client // nil: one without a time limit
	// Sleep waits before a repeat; nil: by the machine's clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Seen, if set, is called with every answer and the time that it took, repeats included.
	Seen func(r Request, status int, took time.Duration)
}

// Request is one call of the API.
type Request struct {
	Method string
	Path   string // escaped
	Query  url.Values
	Body   any // encoded as JSON; nil: none
	// IdempotencyKey makes a repeat of a payment operation safe (D9); "": none.
	IdempotencyKey string
	// ClientToken is the credential of the customer's browser, instead of the API key (D12); "":
	// the API key.
	ClientToken string
	Header      http.Header // further headers
}

// Get reads a path into the variable behind into.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.Call(ctx, Request{Method: http.MethodGet, Path: path, Query: query}, into)
}

// Post sends a body to a path, once.
func (c *Client) Post(ctx context.Context, path string, body, into any) error {
	return c.Call(ctx, Request{Method: http.MethodPost, Path: path, Body: body}, into)
}

// Call sends a request, repeats it where that is safe, and decodes the answer into the variable
// behind into; nil drops the answer.
func (c *Client) Call(ctx context.Context, r Request, into any) error {
	for attempt := 1; ; attempt++ {
		answer, err := c.Do(ctx, r)
		if err == nil {
			return decode(answer, into)
		}
		var apiErr *Error
		if errors.As(err, &apiErr) && attempt > 1 && apiErr.ErrorID == IdempotencyKeyAlreadyExists && apiErr.PaymentID != "" {
			return c.Get(ctx, "/payments/"+url.PathEscape(apiErr.PaymentID), nil, into) // the lost answer was this payment
		}
		if attempt == maxAttempts || !mayRepeat(ctx, r, err) {
			return err
		}
		if c.wait(ctx, attempt, apiErr) != nil {
			return err
		}
	}
}

// notRedirected returns a redirect as the answer. To follow it would send the API key to its
// target.
func notRedirected(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Do sends a request once. The caller closes the body of the answer. An answer other than 2xx is an
// *Error, a redirect as well: it is not followed, unless HTTP says so.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	request, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	var caller http.Client
	if c.HTTP != nil {
		caller = *c.HTTP
	}
	if caller.CheckRedirect == nil {
		caller.CheckRedirect = notRedirected
	}
	began := time.Now()
	answer, err := caller.Do(request)
	if err != nil {
		return nil, err
	}
	if c.Seen != nil {
		c.Seen(r, answer.StatusCode, time.Since(began))
	}
	if answer.StatusCode >= 200 && answer.StatusCode <= 299 {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, ReadError(answer)
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		text, err := json.Marshal(r.Body)
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		body = bytes.NewReader(text)
	}
	target := strings.TrimRight(c.URL, "/") + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, target, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.IdempotencyKey != "" {
		request.Header.Set("X-Idempotency-Key", r.IdempotencyKey)
	}
	if r.ClientToken != "" {
		request.Header.Set("X-Client-Token", r.ClientToken)
		return request, nil
	}
	request.Header.Set("X-Api-Key", c.APIKey)
	request.Header.Set("X-Api-Version", APIVersion)
	return request, nil
}

func mayRepeat(ctx context.Context, r Request, err error) bool {
	safe := r.Method == http.MethodGet || r.IdempotencyKey != ""
	var apiErr *Error
	switch {
	case ctx.Err() != nil:
		return false
	case !errors.As(err, &apiErr): // no answer
		return safe
	case apiErr.Status == http.StatusTooManyRequests: // it was not executed
		return true
	}
	return safe && (apiErr.Status == http.StatusServiceUnavailable || apiErr.Status == http.StatusBadGateway || apiErr.Status == http.StatusGatewayTimeout)
}

func (c *Client) wait(ctx context.Context, attempt int, apiErr *Error) error {
	pause := firstWait << (attempt - 1)
	if apiErr != nil && apiErr.RetryAfter > 0 {
		pause = min(apiErr.RetryAfter, longestWait)
	}
	if c.Sleep != nil {
		return c.Sleep(ctx, pause)
	}
	return Pause(ctx, pause)
}

// Pause waits for d. It returns an error if ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// decode decodes an answer. The status 202 has a payment that goes on by itself as an error (D8),
// or an answer as usual.
func decode(answer *http.Response, into any) error {
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("the server's answer broke off: %w", err)
	}
	var decoded struct {
		Error *Error `json:"error"`
	}
	if answer.StatusCode == http.StatusAccepted && json.Unmarshal(text, &decoded) == nil && decoded.Error != nil {
		decoded.Error.Status = answer.StatusCode
		return decoded.Error
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the server's answer is no JSON that the client knows: %w", err)
	}
	return nil
}
