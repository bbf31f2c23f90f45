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
