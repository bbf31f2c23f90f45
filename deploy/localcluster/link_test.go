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

// TestLink: a cut link holds the bytes of open and of new connections, both ways, and delivers them
// after it is healed.
func TestLink(t *testing.T) {
	l, err := newLink(t.Context(), loopback)
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

// TestLinkOneWay: a link that is held one way carries bytes the other way, and a slow link delivers
// them late.
func TestLinkOneWay(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l, err := newLink(t.Context(), loopback)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.lead(listener.Addr().String())
	near, err := net.Dial("tcp", l.address())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for _, test := range []struct {
		held     way
		in, out  net.Conn
		open, to net.Conn
	}{{there, near, far, far, near}, {back, far, near, near, far}} {
		l.hold(test.held, true)
		for _, conn := range []net.Conn{test.in, test.open} {
			if _, err := io.WriteString(conn, "text"); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]byte, 4)
		test.to.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadFull(test.to, got); err != nil {
			t.Fatalf("held %d: the other way gives %q, %v", test.held, got, err)
		}
		test.out.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if n, err := test.out.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("held %d: the held way gives %q, %v", test.held, got[:n], err)
		}
		l.hold(test.held, false)
		test.out.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadFull(test.out, got); err != nil {
			t.Fatalf("held %d: after it is healed it gives %q, %v", test.held, got, err)
		}
	}
	const delay = 50 * time.Millisecond
	l.slow(delay)
	began, got := time.Now(), make([]byte, 4)
	if _, err := io.WriteString(near, "slow"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(far, got); err != nil || time.Since(began) < delay {
		t.Fatalf("a slow link gives %q after %s, %v", got, time.Since(began), err)
	}
}
