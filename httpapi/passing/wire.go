package passing

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"
)

// A request on its way between two nodes is an envelope in JSON, a line end, and the body. An
// answer is a head in JSON, a line end, and the body, in pieces.

// envelope is a request without its body.
type envelope struct {
	Method string      `json:"method"`
	Target string      `json:"target"` // of the request line
	Host   string      `json:"host"`
	Proto  string      `json:"proto"`
	Peer   string      `json:"peer"` // the address at the other end of the client's connection
	TLS    bool        `json:"tls"`
	Header http.Header `json:"header"`
	ID     string      `json:"id"`
	Seen   []uint64    `json:"seen"`
	Cut    bool        `json:"cut,omitempty"` // the client did not send all of the body
}

// head is the beginning of an answer.
type head struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
}

func (e envelope) encode(body []byte) ([]byte, error) {
	e.Target, e.Host, e.Header = widened(e.Target), widened(e.Host), converted(e.Header, widened)
	return encode(e, body)
}

func decodeRequest(request []byte) (e envelope, body []byte, err error) {
	body, err = decode(request, &e)
	e.Target, e.Host, e.Header = narrowed(e.Target), narrowed(e.Host), converted(e.Header, narrowed)
	return e, body, err
}

func (h head) encode(body []byte) ([]byte, error) {
	h.Header = converted(h.Header, widened)
	return encode(h, body)
}

func decodeHead(piece []byte) (h head, body []byte, err error) {
	body, err = decode(piece, &h)
	h.Header = converted(h.Header, narrowed)
	return h, body, err
}

func encode(v any, body []byte) ([]byte, error) {
	text, err := json.Marshal(v) // without a line end
	if err != nil {
		return nil, err
	}
	all := make([]byte, 0, len(text)+1+len(body))
	return append(append(append(all, text...), '\n'), body...), nil
}

func decode(all []byte, v any) (body []byte, err error) {
	text, body, whole := bytes.Cut(all, []byte("\n"))
	if !whole {
		return nil, errors.New("passing: no line end")
	}
	return body, json.Unmarshal(text, v)
}

// widened returns a text in which each byte of s is a character. JSON has characters only, and a
// header may have any bytes: two idempotency keys that are no UTF-8 would become one.
func widened(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			var b strings.Builder
			for j := range len(s) {
				b.WriteRune(rune(s[j]))
			}
			return b.String()
		}
	}
	return s
}

// narrowed is the reverse of widened.
func narrowed(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			b := make([]byte, 0, len(s))
			for _, r := range s {
				b = append(b, byte(r))
			}
			return string(b)
		}
	}
	return s
}

// converted returns a header with converted values. Names are ASCII.
func converted(h http.Header, convert func(string) string) http.Header {
	all := make(http.Header, len(h))
	for name, values := range h {
		list := make([]string, len(values))
		for i, value := range values {
			list[i] = convert(value)
		}
		all[name] = list
	}
	return all
}
