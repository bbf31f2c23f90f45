package statusline_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"payledger/notifier/statusline"
)

// TestLine checks which bytes have a status line, in pieces of every size.
func TestLine(t *testing.T) {
	for text, want := range map[string]int{
		"HTTP/1.1 200 OK\r\n":                           200,
		"HTTP/1.0 503\n":                                503,
		"HTTP/1.1 200 \r\nbroken header":                200,
		"HTTP/1.1 200 OK":                               0, // not complete
		"HTTP/1.1 200OK\r\n":                            0,
		"HTTP/1.1 20\r\n":                               0,
		"HTTP/1.1 099 x\r\n":                            0,
		"http/1.1 200 OK\r\n":                           0,
		"ICY 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n":         0,
		"\r\nHTTP/1.1 200 OK\r\n":                       0,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204\r\n": http.StatusNoContent,
		"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nbad line\r\n\r\nHTTP/1.1 500 x\r\n": 500,
		"HTTP/1.1 103 Early Hints\r\nHTTP/1.1 200 OK\r\n":                              0, // a line of its header
		"HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n":                  101,
		"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 500 x\r\n":                                    200,
		"HTTP/1.1 200 " + strings.Repeat("x", 70_000) + "\r\n":                         200,
	} {
		for _, size := range []int{1, 7, len(text)} {
			l := statusline.Line{Now: func() time.Time { return time.Unix(7, 0) }}
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				l.Read([]byte(rest[:n]))
				rest = rest[n:]
			}
			code, at, ok := l.Status()
			if code != want || ok != (want != 0) || ok && at != time.Unix(7, 0) {
				t.Errorf("%.60q: %d %v, expected %d", text, code, ok, want)
			}
			l.Begin()
			if _, _, ok := l.Status(); ok {
				t.Error("a line is left from the request before")
			}
		}
	}
}
