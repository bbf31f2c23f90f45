package main

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// patience bounds the waits of tests.
const patience = 2 * time.Minute

// echo serves connections that return every byte.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// TestLink: a cut link holds the bytes of open and of new connections, both ways, and delivers them after it is healed.
func TestLink(t *testing.T) {
	l, err := newLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.lead(echo(t))
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", l.address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	write := func(conn net.Conn, text string) {
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	read := func(conn net.Conn, within time.Duration) (string, error) {
		conn.SetReadDeadline(time.Now().Add(within))
		buffer := make([]byte, 16)
		n, err := conn.Read(buffer)
		return string(buffer[:n]), err
	}
	old := dial()
	write(old, "one")
	if got, err := read(old, patience); got != "one" {
		t.Fatalf("an open link gives %q, %v", got, err)
	}
	l.cut(true)
	l.cut(true) // twice is once
	young := dial()
	write(old, "two")
	write(young, "three")
	for _, conn := range []net.Conn{old, young} {
		if got, err := read(conn, 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a cut link gives %q, %v", got, err)
		}
	}
	l.cut(false)
	for conn, expected := range map[net.Conn]string{old: "two", young: "three"} {
		if got, err := read(conn, patience); got != expected {
			t.Fatalf("a healed link gives %q, %v, expected %q", got, err, expected)
		}
	}
	l.cut(true)
	l.close()
	if got, err := read(old, patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a closed link gives %q, %v", got, err)
	}
}
