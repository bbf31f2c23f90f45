package developer

import (
	"bufio"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestForwardStatusLine checks that a program's answer counts by its status line, although its
// header is malformed (D18).
func TestForwardStatusLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = c.Write([]byte("HTTP/1.1 202 Accepted\r\nContent-Length: 2, 2\r\nTransfer-Encoding: identity\r\n\r\nok"))
			}
			_ = c.Close()
		}
	}()
	for range 2 {
		listening := &listening{target: "http://" + l.Addr().String(), within: time.Minute}
		if a := listening.call(t.Context(), http.Header{}, incoming{Body: "{}"}); a.Status != 202 || a.Failure != "" {
			t.Errorf("%+v", a)
		}
	}
}

// TestSubject: a webhook's line has the id and the status of what it is about: of a dispute, or
// else of a payment.
func TestSubject(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"eventType":"PAYMENT.STATUS","payment":{"id":"p1","status":"SETTLED"}}`:                    "p1  SETTLED",
		`{"eventType":"DISPUTE.STATUS","paymentId":"p1","processorDisputeId":"dp_1","status":"WON"}`: "dp_1  WON",
		`{"eventType":"DISPUTE.OPENED","paymentId":"p1","processorDisputeId":"dp_1"}`:                "dp_1",
		`{"eventType":"WORKFLOW_RUN.FAILED"}`:                                                        "p1", "[]": "p1",
	} {
		if got := (incoming{Payment: "p1", Body: body}).subject(); got != want {
			t.Errorf("%s is about %q, want %q", body, got, want)
		}
	}
}
