package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// wire is one kept HTTP connection to a service. It costs a few microseconds for each request.
type wire struct {
	conn   net.Conn
	reader *bufio.Reader
	head   string // of every request, behind the path
	out    []byte
	body   []byte // of the last answer
}

// dial connects to a service on http.
func dial(ctx context.Context, service, key string) (*wire, error) {
	address := strings.TrimSuffix(strings.TrimPrefix(service, "http://"), "/")
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, reader: bufio.NewReaderSize(conn, 16<<10),
		head: " HTTP/1.1\r\nHost: " + address + "\r\nX-API-KEY: " + key + "\r\nX-API-VERSION: 2.4\r\n"}, nil
}

// call sends a request and returns the answer's status and body. The body is valid until the next call. further are whole header lines.
func (w *wire) call(method, path, further, body string) (status int, answer []byte, err error) {
	w.out = fmt.Appendf(w.out[:0], "%s %s%s%s", method, path, w.head, further)
	if body != "" {
		w.out = fmt.Appendf(w.out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	w.out = append(append(w.out, "\r\n"...), body...)
	if _, err := w.conn.Write(w.out); err != nil {
		return 0, nil, err
	}
	line, length, err := readHead(w.reader)
	if err != nil {
		return 0, nil, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, nil, fmt.Errorf("no HTTP answer: %q", line)
	}
	if status, err = strconv.Atoi(line[len("HTTP/1.1 "):][:3]); err != nil {
		return 0, nil, err
	}
	w.body, err = readBody(w.reader, w.body, length)
	return status, w.body, err
}

// chunked is the length of a body in chunks.
const chunked = -1

// readHead reads the first line of a message and its headers, and returns the line and the length of the body.
func readHead(r *bufio.Reader) (first string, length int, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case first == "":
			first = string(line)
		case len(line) == 0:
			return first, length, nil
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return "", 0, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = chunked
		}
	}
}

// readBody reads a body into the buffer.
func readBody(r *bufio.Reader, into []byte, length int) ([]byte, error) {
	if length != chunked {
		return readMore(r, into[:0], length)
	}
	into = into[:0]
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		size, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return nil, err
		}
		if into, err = readMore(r, into, int(size)); err != nil {
			return nil, err
		}
		if _, err := r.Discard(len("\r\n")); err != nil || size == 0 {
			return into, err
		}
	}
}

func readMore(r *bufio.Reader, into []byte, n int) ([]byte, error) {
	from := len(into)
	into = append(into, make([]byte, n)...)
	_, err := io.ReadFull(r, into[from:])
	return into, err
}
