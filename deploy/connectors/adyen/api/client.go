package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"payledger/domain"
	"payledger/domain/exactjson"
	"payledger/processorsim/connector"
)

const (
	maxBody       = 1 << 20
	inProgress    = "704" // errorCode: the first request under the key is still running
	headerKey     = "Idempotency-Key"
	headerRetry   = "Transient-Error"
	refusedStatus = http.StatusUnprocessableEntity
)

// refusal is Adyen's statement that it did nothing with a request.
type refusal struct{ code, message string }

func (r *refusal) Error() string {
	return fmt.Sprintf("Adyen refused the request: %s %s", r.code, r.message)
}

type serviceError struct {
	ErrorCode string `json:"errorCode"`
	Message   string `json:"message"`
}

// post sends a request once, under an idempotency key, and reads the answer. Errors: a refusal;
// connector.ErrNothing; after any other the outcome is unknown.
func (v *Vendor) post(ctx context.Context, path, key string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%w: %w", connector.ErrNothing, err)
	}
	connected := atomic.Bool{}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, v.URL+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%w: %w", connector.ErrNothing, err)
	}
	// Without GetBody net/http never sends the request a second time by itself, which it does for
	// requests with an Idempotency-Key: then a refusal of the second would say nothing about the
	// first.
	r.GetBody = nil
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-API-Key", v.APIKey)
	r.Header.Set(headerKey, key)
	response, err := v.client.Do(r)
	if err != nil && !connected.Load() {
		return fmt.Errorf("%w: no connection to Adyen: %w", connector.ErrNothing, err)
	}
	if err != nil {
		return fmt.Errorf("no answer of Adyen: %w", err)
	}
	got, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err = errors.Join(err, response.Body.Close()); err != nil || len(got) > maxBody {
		return fmt.Errorf("the answer %d of Adyen was cut or is too long: %w", response.StatusCode, errors.Join(err))
	}
	if response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated {
		if err := exactjson.Unmarshal(got, answer); err != nil {
			return fmt.Errorf("the answer %d of Adyen cannot be read", response.StatusCode) // the reader's text may repeat a value
		}
		return nil
	}
	return problem(response, got)
}

// problem returns the error for an answer that is no success.
func problem(response *http.Response, body []byte) error {
	var said serviceError
	readable := exactjson.Unmarshal(body, &said) == nil
	said.Message = plain(said.Message)
	status := response.StatusCode
	what := fmt.Errorf("Adyen answered %d %s %s", status, plain(said.ErrorCode), said.Message) //nolint:staticcheck // a name
	switch {
	case said.ErrorCode == inProgress:
		return what
	case strings.EqualFold(response.Header.Get(headerRetry), "true"), status == http.StatusTooManyRequests,
		status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: %w", connector.ErrNothing, what)
	case readable && said.ErrorCode != "" && (status == http.StatusBadRequest || status == refusedStatus):
		return &refusal{plain(said.ErrorCode), said.Message}
	}
	return what
}

const maxText = 200

// plain shortens a text of Adyen, and drops one with a card number.
func plain(text string) string {
	if domain.HoldsCardNumber(text) {
		return "(a text with a card number)"
	}
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}
