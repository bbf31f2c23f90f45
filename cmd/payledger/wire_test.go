package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wire is a merchant's persistent connection with almost no cost, as load generators have: it writes requests as bytes, and reads only the
// status and the length of an answer.
type wire struct {
	conn   net.Conn
	reader *bufio.Reader
	head   string // of every request, behind the path
	buffer []byte
}

func dialWire(url, key string) (*wire, error) {
	address := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, reader: bufio.NewReader(conn), head: " HTTP/1.1\r\nHost: " + address +
		"\r\nX-API-KEY: " + key + "\r\nX-API-VERSION: 2.4\r\nContent-Type: application/json\r\n"}, nil
}

// pay creates a payment and returns the status of the answer.
func (w *wire) pay(token, key string) (status int, err error) {
	return w.post("/payments", key, `{"paymentMethodToken":"`+token+`"}`)
}

// post sends a request, with an idempotency key unless it is empty, and returns the status of the answer.
func (w *wire) post(path, key, body string) (status int, err error) {
	w.buffer = fmt.Appendf(w.buffer[:0], "POST %s%s", path, w.head)
	if key != "" {
		w.buffer = fmt.Appendf(w.buffer, "X-Idempotency-Key: %s\r\n", key)
	}
	w.buffer = fmt.Appendf(w.buffer, "Content-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := w.conn.Write(w.buffer); err != nil {
		return 0, err
	}
	length := -1
	for {
		line, err := w.reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch name, value, _ := strings.Cut(text, ": "); {
		case status == 0:
			if status, err = strconv.Atoi(text[len("HTTP/1.1 "):][:3]); err != nil {
				return 0, err
			}
		case text == "":
			if length < 0 {
				return 0, errors.New("an answer without a length")
			}
			_, err := io.CopyN(io.Discard, w.reader, int64(length))
			return status, err
		case name == "Content-Length":
			if length, err = strconv.Atoi(value); err != nil {
				return 0, err
			}
		}
	}
}

// cpuTime returns the CPU time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
