package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestChunkedRequestsEndTheConnection: after a request with Transfer-Encoding, with or without a
// Content-Length, the connection is closed; after a request with a Content-Length only it is kept.
func TestChunkedRequestsEndTheConnection(t *testing.T) {
	w, err := Serve(t.Context(), "127.0.0.1:0", Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Stop(time.Minute); err != nil {
			t.Error(err)
		}
	}()
	for request, closed := range map[string]bool{
		"Content-Length: 1\r\n\r\na":                                                 false,
		"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n":                      true,
		"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n": true,
	} {
		c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", w.URL[len("http://"):])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\n"+request); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || string(body) != "a" || answer.Close != closed {
			t.Errorf("%q: %q, closed %v, %v", request, body, answer.Close, err)
		}
		_ = answer.Body.Close()
		_ = c.Close()
	}
}
