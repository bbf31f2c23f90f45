package sender

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"payledger/notifier/delivery"
	"payledger/notifier/guard"
)

// TestSentOnce: a receiver reads a request on a used connection and hangs up. The request is sent
// once, with an idempotency key or without: the attempt has failed, and the caller decides on
// another one. The receiver finds the key under its usual name.
func TestSentOnce(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "payment-1.7"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var came, connections atomic.Int64
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				connections.Add(1)
				go func() {
					defer c.Close()
					from := bufio.NewReader(c)
					for n := 0; n < 2; n++ { // the second request of a connection has no answer
						r, err := http.ReadRequest(from)
						if err != nil {
							return
						}
						_, _ = io.Copy(io.Discard, r.Body)
						came.Add(1)
						if r.Header.Get("Idempotency-Key") != key {
							t.Errorf("%v", r.Header)
						}
						if n == 0 {
							_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
						}
					}
				}()
			}
		}()
		s := New(Config{Guard: guard.Guard{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, Timeout: time.Minute, Now: time.Now})
		defer s.Close()
		m := Message{URL: "http://" + l.Addr().String() + "/", Body: Fixed([]byte("{}")), IdempotencyKey: key}
		for i, want := range []delivery.Failure{"", delivery.FailureConnection} {
			if a, err := s.Attempt(t.Context(), m); err != nil || a.Failure != want {
				t.Errorf("key %q, request %d: %+v %v", key, i+1, a, err)
			}
		}
		if came.Load() != 2 || connections.Load() != 1 {
			t.Errorf("key %q: %d requests came on %d connections", key, came.Load(), connections.Load())
		}
	}
}
