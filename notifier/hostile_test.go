package notifier

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"payledger/notifier/delivery"
	"payledger/notifier/guard"
	"payledger/notifier/sender"
	"strings"
	"testing"
	"time"
)

// hostile is a receiver that calls do with the connection after a request came.
func hostile(t *testing.T, do func(c net.Conn, gone <-chan struct{})) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			request, err := http.ReadRequest(bufio.NewReader(c))
			if err == nil {
				_, err = io.Copy(io.Discard, request.Body)
			}
			if err == nil {
				gone := make(chan struct{})
				go func() { // reads nothing more than the sender's hanging up
					defer close(gone)
					_, _ = io.Copy(io.Discard, c)
				}()
				do(c, gone)
				_ = c.Close()
				<-gone
			}
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

// drip writes a text byte by byte until the sender is gone.
func drip(text string) func(net.Conn, <-chan struct{}) {
	return func(c net.Conn, gone <-chan struct{}) {
		for i := 0; ; i++ {
			if _, err := io.WriteString(c, text[i%len(text):i%len(text)+1]); err != nil {
				return
			}
			select {
			case <-gone:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

func hang(_ net.Conn, gone <-chan struct{}) { <-gone }

func say(text string, then func(net.Conn, <-chan struct{})) func(net.Conn, <-chan struct{}) {
	return func(c net.Conn, gone <-chan struct{}) {
		if _, err := io.WriteString(c, text); err == nil && then != nil {
			then(c, gone)
		}
	}
}

// TestHostile checks that an attempt at any receiver ends in time, with the outcome of the status
// line (D18).
func TestHostile(t *testing.T) {
	t.Parallel()
	flood := strings.Repeat("x", 1<<16)
	tlsServer := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(tlsServer.Close)
	tlsServer.Config.ErrorLog = nil
	for name, c := range map[string]struct {
		do      func(net.Conn, <-chan struct{})
		url     string
		status  int
		failure delivery.Failure
		excerpt string
	}{
		"hangs before the headers": {do: hang, failure: delivery.FailureTimeout},
		"hangs in the headers":     {do: say("HTTP/1.1 200 OK\r\nA: b\r\n", hang), status: 200},
		"drips headers for ever":   {do: say("HTTP/1.1 200 OK\r\n", drip("a: b\r\n")), status: 200},
		"drips a status for ever":  {do: drip("H"), failure: delivery.FailureTimeout},
		"hangs in the body":        {do: say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nwell", hang), status: 200, excerpt: "well"},
		"drips a body for ever":    {do: say("HTTP/1.1 200 OK\r\n\r\nzzz", drip("z")), status: 200, excerpt: "zzz"},
		"an endless body": {do: say("HTTP/1.1 500 No\r\n\r\n", func(c net.Conn, _ <-chan struct{}) {
			for {
				if _, err := io.WriteString(c, flood); err != nil {
					return
				}
			}
		}), status: 500, failure: delivery.FailureStatus, excerpt: "xxx"},
		"endless headers":      {do: say("HTTP/1.1 200 OK\r\nA: "+flood+flood, hang), status: 200},
		"early hints for ever": {do: say(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10_000), hang), failure: delivery.FailureProtocol},
		"cuts at once":         {do: func(net.Conn, <-chan struct{}) {}, failure: delivery.FailureConnection},
		"resets":               {do: func(c net.Conn, _ <-chan struct{}) { _ = c.(*net.TCPConn).SetLinger(0) }, failure: delivery.FailureConnection},
		"is no HTTP":           {do: say("SSH-2.0-x\r\n", nil), failure: delivery.FailureProtocol},
		"switches protocols":   {do: say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", hang), status: 101, failure: delivery.FailureStatus},
		"301":                  {do: say("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", nil), status: 301, failure: delivery.FailureStatus},
		"410":                  {do: say("HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone", nil), status: 410, failure: delivery.FailureStatus, excerpt: "gone"},
		"429":                  {do: say("HTTP/1.1 429 Slow\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", nil), status: 429, failure: delivery.FailureStatus},
		"299":                  {do: say("HTTP/1.1 299 Fine\r\nContent-Length: 0\r\n\r\n", nil), status: 299},
		"control characters":   {do: say("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n\x1b[31mr\xffed\x00\u00e9\x7f\r\n!!", nil), status: 200, excerpt: "[31mredé  !!"},
		"bad TLS":              {url: tlsServer.URL, failure: delivery.FailureTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := c.url
			if c.do != nil {
				url = hostile(t, c.do)
			}
			timeout := patience // none of these lasts as long, however busy the machine
			if c.failure == delivery.FailureTimeout {
				timeout = 300 * time.Millisecond
			}
			s := sender.New(sender.Config{Guard: guard.Guard{AllowCIDRs: loopback}, Timeout: timeout, Now: time.Now})
			defer s.Close()
			start := time.Now()
			a, err := s.Attempt(context.Background(), sender.Message{URL: url, Keys: []sender.Key{{Name: secretName, Text: secretText}}, Body: emptyPayload})
			if err != nil || a.StatusCode != c.status || a.Failure != c.failure || !strings.HasPrefix(a.Excerpt, c.excerpt) || len(a.Excerpt) > sender.ExcerptLimit {
				t.Errorf("%+v %v", a, err)
			}
			if took := time.Since(start); took > timeout+sender.AnswerTime+patience || c.failure == delivery.FailureTimeout && took < timeout {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestHostileBody checks that the bytes after the status line take at most a moment, however long
// an attempt may take.
func TestHostileBody(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(net.Conn, <-chan struct{}){"hangs": hang, "drips": drip("z")} {
		s := sender.New(sender.Config{Guard: guard.Guard{AllowCIDRs: loopback}, Timeout: time.Minute, Now: time.Now})
		start := time.Now()
		a, err := s.Attempt(context.Background(), sender.Message{
			URL: hostile(t, say("HTTP/1.1 200 OK\r\n\r\n", do)), Keys: []sender.Key{{Name: secretName, Text: secretText}}, Body: emptyPayload,
		})
		s.Close()
		took := time.Since(start)
		if err != nil || a.StatusCode != 200 || took > patience {
			t.Errorf("%s: %+v %v after %s", name, a, err, took)
		}
		if body := took - time.Duration(a.Duration)*time.Microsecond; body < sender.AnswerTime/2 { // on a busy machine the wait begins before the status line is noticed
			t.Errorf("%s: the time of the attempt holds the wait for its body: only %s came after it", name, body)
		}
	}
}
