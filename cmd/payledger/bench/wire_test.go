package bench

import (
	"bufio"
	"strings"
	"testing"
)

// TestMessages: a message ends where its length or its last chunk says, and broken ones are errors.
func TestMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, first, body string
		wrong             bool
	}{
		"length":              {text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", first: "HTTP/1.1 200 OK", body: "hello"},
		"no space, any case":  {text: "HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhello", first: "HTTP/1.1 200 OK", body: "hello"},
		"no body":             {text: "HTTP/1.1 204 No Content\r\nDate: today\r\n\r\n", first: "HTTP/1.1 204 No Content"},
		"chunks":              {text: "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\nA;note=1\r\nlo, world!\r\n0\r\n\r\n", first: "POST / HTTP/1.1", body: "hello, world!"},
		"trailers":            {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nSum: 1\r\nMore: 2\r\n\r\n", first: "HTTP/1.1 200 OK", body: "x"},
		"negative length":     {text: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", wrong: true},
		"huge length":         {text: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", wrong: true},
		"huge chunk":          {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", wrong: true},
		"length is no number": {text: "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n", wrong: true},
		"chunk is no number":  {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", wrong: true},
		"body cut":            {text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", wrong: true},
		"chunk cut":           {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", wrong: true},
		"head cut":            {text: "HTTP/1.1 200 OK\r\nContent-Le", wrong: true},
		"line too long":       {text: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", wrong: true},
	} {
		const next = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"
		text := c.text
		if !c.wrong {
			text += next
		}
		in := bufio.NewReaderSize(strings.NewReader(text), 16<<10)
		first, length, err := readHead(in)
		var body []byte
		if err == nil {
			body, err = readBody(in, []byte("of an earlier answer"), length)
		}
		switch {
		case c.wrong && err == nil:
			t.Errorf("%s: no error, %q with %q", name, first, body)
		case !c.wrong && (err != nil || first != c.first || string(body) != c.body):
			t.Errorf("%s: %q with %q, %v", name, first, body, err)
		case !c.wrong:
			_, length, err := readHead(in)
			if body, err2 := readBody(in, nil, length); err != nil || err2 != nil || string(body) != "next" {
				t.Errorf("%s: the next message has %q, %v %v", name, body, err, err2)
			}
		}
	}
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	if status, err := statusOf("HTTP/1.1 503 Service Unavailable"); status != 503 || err != nil {
		t.Errorf("%d %v", status, err)
	}
	for _, wrong := range []string{"", "HTTP/1.1 ", "HTTP/1.1 2x0 OK", "HTTP/1.1 -20 OK", "SSH-2.0-OpenSSH_9.2p1"} {
		if status, err := statusOf(wrong); err == nil {
			t.Errorf("%q is status %d", wrong, status)
		}
	}
}

func TestTextOf(t *testing.T) {
	t.Parallel()
	body := []byte(`{"eventType":"PAYMENT.STATUS","payment":{"id":"p1","n":1}}`)
	if got := textOf(body, "id"); got != "p1" {
		t.Errorf("id %q", got)
	}
	if got := textOf(body, "n") + textOf(nil, "id"); got != "" {
		t.Errorf("found %q", got)
	}
}

func TestPageOf(t *testing.T) {
	t.Parallel()
	for page, expected := range map[string]struct {
		events int
		next   string
	}{
		`{"data":[]}`:                        {0, ""},
		`{"data":[{"position":1,"id":"x"}]}`: {1, ""},
		`{"data":[{"position":1,"event":{"nextAfter":7}},{"position":2}],"nextAfter":2}`: {2, "2"},
	} {
		if events, next := pageOf([]byte(page)); events != expected.events || next != expected.next {
			t.Errorf("%s: %d events, next %q", page, events, next)
		}
	}
}

func TestAddressOf(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]string{
		"http://127.0.0.1:8080": "127.0.0.1:8080", "http://localhost:1/": "localhost:1", "http://shop.example": "shop.example:80", "http://[::1]:8080": "[::1]:8080",
	} {
		if got, err := addressOf("--url", text); got != expected || err != nil {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"https://127.0.0.1:8443": "plain http", "127.0.0.1:8080": "must be like", "": "must be like", "http://": "must be like",
		"http://127.0.0.1:8080/v1": "must be like", "http://a@b": "must be like", "http://127.0.0.1:x": "must be like",
	} {
		if got, err := addressOf("--url", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, error %v, expected %q", text, got, err, says)
		}
	}
}
