package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/protocol"
	"payledger/processorsim/server"
)

// failing are books of STRIPE that can do nothing.
type failing struct{ err error }

func (f failing) Declaration(name processor.Name) (protocol.Declaration, bool) {
	return protocol.Declaration{Protocol: protocol.Version, Processor: name}, name == processor.Stripe
}

func (f failing) Send(context.Context, processor.Operation) (processor.Answer, error) {
	return processor.Answer{}, f.err
}

func (f failing) Lookup(context.Context, processor.Name, domain.OperationKey) (processor.Lookup, error) {
	return processor.Lookup{}, f.err
}

func (f failing) Fence(context.Context, processor.Name, domain.OperationKey) (processor.Lookup, error) {
	return processor.Lookup{}, f.err
}

func (f failing) Entries(_ context.Context, _ protocol.Filter, yield func(protocol.Entry) error) error {
	for range 2000 { // more than the server collects before it writes
		if err := yield(protocol.Entry{Line: protocol.Line{ID: "op"}}); err != nil {
			return err
		}
	}
	return f.err
}

func (f failing) Disputes(context.Context, protocol.DisputeFilter) (protocol.DisputeList, error) {
	return protocol.DisputeList{}, f.err
}

func call(t *testing.T, s *server.Server, method, path, body, authorization string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set(protocol.HeaderIdempotencyKey, "k")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

const capture = `{"operation":"capture","reference":"01p","parentId":"x","amount":1,"currency":"EUR"}`

// TestToken: with a token, every path needs it, and no answer repeats what was sent.
func TestToken(t *testing.T) {
	s := server.New(server.Config{Books: failing{}, Token: "the-token"})
	defer s.Close()
	paths := []string{"/v1/processors/STRIPE", "/v1/processors/STRIPE/disputes", "/v1/processors/NOBODY", "/nothing"}
	for _, path := range paths {
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer the-toke", "Bearer the-token ", "Basic the-token", "the-token"} {
			w := call(t, s, http.MethodGet, path, "", header)
			if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), `"unauthorized"`) || strings.Contains(w.Body.String(), "the-tok") {
				t.Errorf("GET %s with %q: %d %s", path, header, w.Code, w.Body)
			}
		}
	}
	if w := call(t, s, http.MethodGet, paths[0], "", "bearer the-token"); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestErrors: each error of the books has its status; the text of an unexpected one stays inside.
func TestErrors(t *testing.T) {
	for _, row := range []struct {
		err    error
		status int
		code   string
	}{
		{protocol.ErrKeyReused, 422, protocol.CodeKeyReused},
		{protocol.ErrInProgress, 409, protocol.CodeInProgress},
		{errors.New("disk /var/books"), 503, protocol.CodeUnavailable},
	} {
		s := server.New(server.Config{Books: failing{row.err}})
		w := call(t, s, http.MethodPost, "/v1/processors/STRIPE/operations", capture, "")
		if w.Code != row.status || !strings.Contains(w.Body.String(), `"`+row.code+`"`) || strings.Contains(w.Body.String(), "/var") {
			t.Errorf("%v: %d %s", row.err, w.Code, w.Body)
		}
		s.Close()
		if w := call(t, s, http.MethodGet, "/v1/processors/STRIPE", "", ""); w.Code != http.StatusServiceUnavailable {
			t.Errorf("after Close: %d %s", w.Code, w.Body)
		}
	}
}

// TestCut: an answer that is lost, and a list that cannot be read to its end, cut the connection.
func TestCut(t *testing.T) {
	s := server.New(server.Config{Books: failing{server.ErrCut}})
	defer s.Close()
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	for _, path := range []string{"/operations/k", "/operations?from=2026-01-01T00:00:00Z"} {
		response, err := http.Get(web.URL + "/v1/processors/STRIPE" + path)
		if err == nil {
			_, err = response.Body.Read(make([]byte, 1<<20))
			for err == nil {
				_, err = response.Body.Read(make([]byte, 1<<20))
			}
			response.Body.Close()
		}
		if err == nil || err.Error() == "EOF" {
			t.Errorf("%s ends well: %v", path, err)
		}
	}
}
