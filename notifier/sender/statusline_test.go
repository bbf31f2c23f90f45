package sender

import (
	"bufio"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"payledger/notifier/delivery"
	"payledger/notifier/guard"
)

// TestStatusLineDecides checks that an answer counts by its status line, whatever follows it: a
// receiver that answered 200 has the webhook, and a repeat would be wrong (D18).
func TestStatusLineDecides(t *testing.T) {
	t.Parallel()
	headers := map[string]string{
		"none": "", "Transfer-Encoding twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"an unknown encoding":     "Transfer-Encoding: identity\r\n\r\n",
		"two lengths":             "Content-Length: 2, 2\r\n\r\nok",
		"two other lengths":       "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
		"a negative length":       "Content-Length: -1\r\n\r\n",
		"a bad line":              "this is no header\r\n\r\nok",
		"a blank in a name":       "X Y: 1\r\n\r\n",
		"a control character":     "X: \x01\r\n\r\n",
		"70 KB":                   "X: " + strings.Repeat("x", 70<<10) + "\r\n\r\n",
		"half a header":           "Content-Le",
		"a redirect to nowhere":   "Location: http://[::1\r\n\r\n",
		"early hints before this": "",
	}
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
			go func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				name, before, after := r.URL.Query().Get("header"), "", ""
				if headers[name] != "" {
					after = "Connection: close\r\n" + headers[name] // the sender must not reuse the connection, which ends here
				}
				if strings.HasPrefix(name, "early") {
					before = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
				}
				_, _ = c.Write([]byte(before + "HTTP/1.1 " + r.URL.Query().Get("status") + " x\r\n" + after))
			}()
		}
	}()
	s := New(Config{Guard: guard.Guard{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, Timeout: time.Minute, Now: time.Now})
	defer s.Close()
	for name := range headers {
		for status, want := range map[string]delivery.Failure{"200": "", "204": "", "302": delivery.FailureStatus, "500": delivery.FailureStatus} {
			for _, fresh := range []func() error{nil, func() error { return nil }} {
				to := "http://" + l.Addr().String() + "/?status=" + status + "&header=" + strings.ReplaceAll(name, " ", "%20")
				a, err := s.Attempt(t.Context(), Message{URL: to, Body: Fixed([]byte("{}")), Fresh: fresh})
				if err != nil || a.Failure != want || a.StatusCode != map[string]int{"200": 200, "204": 204, "302": 302, "500": 500}[status] {
					t.Errorf("%s and %s: %+v %v", status, name, a, err)
				}
			}
		}
	}
}
