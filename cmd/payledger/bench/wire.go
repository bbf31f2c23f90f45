package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"slices"
	"strconv"
	"time"
)

// answerPatience is how long a request may wait for its answer. The server's own limit,
// --payment-timeout, is 90 s.
const answerPatience = 2 * time.Minute

// wire is one kept HTTP connection to a service. It costs a few microseconds for each request.
type wire struct {
	conn   net.Conn
	reader *bufio.Reader
	head   string // of every request, behind the path
	out    []byte
	body   []byte      // of the last answer
	unbind func() bool // ends the watch on the run's context
}

// dial connects to a service. The connection breaks when ctx ends, so that no request outlives an
// interrupted run.
func dial(ctx context.Context, s *service) (*wire, error) { return dialNode(ctx, s, 0) }

// dialNode is dial for one of the nodes, counted around: node 0 is that of the URL.
func dialNode(ctx context.Context, s *service, node int) (*wire, error) {
	address := s.address
	if node %= len(s.peers) + 1; node > 0 {
		address = s.peers[node-1]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &wire{
		conn: conn, reader: bufio.NewReaderSize(conn, 16<<10), unbind: context.AfterFunc(ctx, func() { conn.Close() }),
		head: " HTTP/1.1\r\nHost: " + address + "\r\nX-API-KEY: " + s.key + "\r\nX-API-VERSION: 2.4\r\n",
	}, nil
}

func (w *wire) close() {
	w.unbind()
	w.conn.Close()
}

// call sends a request and returns the answer's status and body. The body is valid until the next
// call. further are whole header lines.
func (w *wire) call(method, path, further, body string) (status int, answer []byte, err error) {
	w.out = fmt.Appendf(w.out[:0], "%s %s%s%s", method, path, w.head, further)
	if body != "" {
		w.out = fmt.Appendf(w.out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	w.out = append(append(w.out, "\r\n"...), body...)
	if err := w.conn.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return 0, nil, err
	}
	if _, err := w.conn.Write(w.out); err != nil {
		return 0, nil, err
	}
	line, length, err := readHead(w.reader)
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: no answer: %w", method, path, err)
	}
	if status, err = statusOf(line); err != nil {
		return 0, nil, err
	}
	w.body, err = readBody(w.reader, w.body, length)
	return status, w.body, err
}

func statusOf(line string) (int, error) {
	const version = "HTTP/1.1 "
	if len(line) >= len(version)+3 && line[:len(version)] == version {
		if status, err := strconv.ParseUint(line[len(version):][:3], 10, 16); err == nil {
			return int(status), nil
		}
	}
	return 0, fmt.Errorf("the answer begins with %q, which is not HTTP/1.1", line)
}

const chunked = -1

// maxBody bounds a body, in bytes. A page of 1,000 events has some megabytes.
const maxBody = 64 << 20

var errLong = errors.New("a body is longer than 64 MiB")

func readHead(r *bufio.Reader) (first string, length int, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case first == "":
			first = string(line)
		case len(line) == 0:
			return first, length, nil
		case bytes.EqualFold(name, []byte("Content-Length")):
			n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 63)
			if err == nil && n > maxBody {
				err = errLong
			}
			if err != nil {
				return "", 0, err
			}
			length = int(n)
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = chunked
		}
	}
}

// readBody reads a body into the buffer, from its beginning.
func readBody(r *bufio.Reader, into []byte, length int) ([]byte, error) {
	if length != chunked {
		into = slices.Grow(into[:0], length)[:length]
		_, err := io.ReadFull(r, into)
		return into, err
	}
	body := bytes.NewBuffer(into[:0])
	if _, err := body.ReadFrom(io.LimitReader(httputil.NewChunkedReader(r), maxBody+1)); err != nil {
		return nil, err
	}
	if body.Len() > maxBody {
		return nil, errLong
	}
	return body.Bytes(), skipTrailers(r)
}

func skipTrailers(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return err
		}
	}
}

// textOf returns the value of the first text field of that name in a JSON text. It does not know
// escapes: ids and tokens have none.
func textOf(body []byte, name string) string {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":"`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
