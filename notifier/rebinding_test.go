package notifier

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"payledger/notifier/delivery"
	"payledger/notifier/guard"
	"payledger/notifier/sender"
	"sync"
	"testing"
	"time"
)

// names that a resolver answers with one list of addresses after the other, look-up by look-up; the
// last stays.
type rebinding struct {
	mu      sync.Mutex
	answers [][]netip.Addr
	asked   map[uint16]int // by type of record
}

// resolver returns a resolver that reaches the rebinding server over pipes; no packet leaves the
// process.
func (r *rebinding) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go r.serve(theirs)
		return ours, nil
	}}
}

// serve answers one connection's questions as DNS over TCP does: each message after its length.
func (r *rebinding) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		answer := r.answer(question)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// Types of records.
const (
	typeA    = 1
	typeAAAA = 28
)

// answer returns the answer to a question about one name (RFC 1035): the header and the question
// again, and the addresses.
func (r *rebinding) answer(question []byte) []byte {
	end := 12
	for question[end] != 0 {
		end += 1 + int(question[end])
	}
	end += 5 // the name's end, its type and its class
	kind := binary.BigEndian.Uint16(question[end-4:])
	r.mu.Lock()
	defer r.mu.Unlock()
	addresses := r.answers[min(r.asked[kind], len(r.answers)-1)]
	r.asked[kind]++
	var records []byte
	n := uint16(0)
	for _, a := range addresses {
		if a.Is4() != (kind == typeA) || a.Is6() != (kind == typeAAAA) {
			continue
		}
		n++
		records = append(records, 0xc0, 12) // the question's name
		records = binary.BigEndian.AppendUint16(records, kind)
		records = append(records, 0, 1, 0, 0, 0, 0) // Internet, not to be kept
		records = binary.BigEndian.AppendUint16(records, uint16(len(a.AsSlice())))
		records = append(records, a.AsSlice()...)
	}
	head := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1}, 0, byte(n), 0, 0, 0, 0)
	return append(append(head, question[12:end]...), records...)
}

func rebind(answers ...[]string) *rebinding {
	r := &rebinding{asked: map[uint16]int{}}
	for _, list := range answers {
		var parsed []netip.Addr
		for _, a := range list {
			parsed = append(parsed, netip.MustParseAddr(a))
		}
		r.answers = append(r.answers, parsed)
	}
	return r
}

// TestRebinding: a name that leads to a public address when the endpoint is created and elsewhere
// when the webhook is sent is refused at that moment; also where the address is IPv4 in another
// form (D18).
func TestRebinding(t *testing.T) {
	t.Parallel()
	inbox := newReceiver(t, nil)
	_, port, err := net.SplitHostPort(inbox.url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	to := "http://hooks.example:" + port + "/"
	for name, second := range map[string][]string{
		"loopback": {"127.0.0.1"}, "metadata": {"169.254.169.254"}, "private": {"10.0.0.1", "192.168.1.1"}, "loopback by v6": {"::1"},
		"unspecified": {"0.0.0.0"}, "mapped": {"::ffff:127.0.0.1"}, "NAT64": {"64:ff9b::7f00:1"}, "6to4": {"2002:7f00:1::"},
		"Teredo": {"2001:0:4136:e378:8000:63bf:3fff:fdd2"}, "unique local": {"fd00:ec2::254"}, "link-local": {"fe80::1"},
	} {
		t.Run(name, func(t *testing.T) {
			dns := rebind([]string{"93.184.216.34"}, second)
			g := guard.Guard{Resolver: dns.resolver()}
			if err := g.CheckURL(context.Background(), to); err != nil {
				t.Fatalf("at its creation: %v", err)
			}
			s := sender.New(sender.Config{Guard: g, Timeout: patience, Now: time.Now})
			defer s.Close()
			a, err := s.Attempt(context.Background(), sender.Message{URL: to, Keys: []sender.Key{{Name: secretName, Text: secretText}}, Body: emptyPayload})
			if err != nil || a.Failure != delivery.FailureAddress {
				t.Errorf("when it is sent: %+v %v", a, err)
			}
			if err := (guard.Guard{Resolver: dns.resolver()}).CheckURL(context.Background(), to); !errors.Is(err, guard.ErrRefused) {
				t.Errorf("at another creation: %v", err)
			}
		})
	}
	inbox.none()
	// The same way with the network allowed arrives: it was the guard that refused.
	g := guard.Guard{Resolver: rebind([]string{"127.0.0.1"}).resolver(), AllowCIDRs: loopback}
	s := sender.New(sender.Config{Guard: g, Timeout: patience, Now: time.Now})
	defer s.Close()
	a, err := s.Attempt(context.Background(), sender.Message{URL: to, Keys: []sender.Key{{Name: secretName, Text: secretText}}, Body: emptyPayload})
	if err != nil || a.StatusCode != http.StatusOK {
		t.Errorf("%+v %v", a, err)
	}
	inbox.waitFor(1)
}

// TestControlForms: the address that is dialled is judged by where its packets go, however it is
// written.
func TestControlForms(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"[::ffff:127.0.0.1]:80", "[::ffff:a9fe:a9fe]:80", "[64:ff9b::a9fe:a9fe]:80", "[64:ff9b::10.0.0.1]:80", "[2002:a00:1::1]:80",
		"[2002:7f00:1::]:80", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]:80", "[::127.0.0.1]:80", "[fd00:ec2::254]:80", "100.100.100.200:80",
	} {
		if err := (guard.Guard{}).Control("tcp6", address, nil); !errors.Is(err, guard.ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"[::ffff:93.184.216.34]:80", "[64:ff9b::5db8:d822]:80", "[2002:5db8:d822::1]:80"} {
		if err := (guard.Guard{}).Control("tcp6", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}
