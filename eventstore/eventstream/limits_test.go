package eventstream_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/eventstore/eventstream"
)

// TestLimits: connections, consumers, subscriptions, batches and requests of an account are
// limited. An account at its limits takes none from another account.
func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, 32<<20) // 16 connections, 4 of an account
	path, _ := r.credentials(t, ours)
	theirPath, _ := r.credentials(t, theirs)
	connections := 0
	for ; connections < 20; connections++ {
		conn, err := nats.Connect(r.URL(), nats.UserCredentials(path), nats.NoReconnect(), patient)
		if err != nil {
			break
		}
		t.Cleanup(conn.Close)
		if connections == 0 {
			limited(t, r, conn)
		}
	}
	if connections != 4 {
		t.Errorf("the account has %d connections, expected 4", connections)
	}
	other := r.connect(t, theirPath)
	if _, err := other.js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "c"}); err != nil {
		t.Errorf("another account has no consumer: %v", err)
	}
	if _, err := nats.Connect(r.URL(), nats.UserCredentials(path), nats.NoReconnect(), patient); err == nil {
		t.Error("a fifth connection is possible")
	}
	fed := r.last
	if r.write(t, 1, 10); r.last != fed+1 {
		t.Error("the feed is limited, too")
	}
}

func limited(t *testing.T, r *rig, conn *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	consumers := 0
	for ; consumers < 20; consumers++ {
		if _, err = js.CreateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: fmt.Sprint("c", consumers)}); err != nil {
			break
		}
	}
	if consumers != 4 || !strings.Contains(err.Error(), "delete one") {
		t.Errorf("the account has %d consumers, expected 4; %v", consumers, err)
	}
	changed, err := js.CreateOrUpdateConsumer(t.Context(), eventstream.Name, jetstream.ConsumerConfig{Durable: "c0", MaxAckPending: 1 << 30, MaxWaiting: 1 << 30})
	if err != nil {
		t.Fatalf("a consumer of a full account cannot be changed: %v", err)
	}
	if got := changed.CachedInfo().Config; got.MaxAckPending != 10_000 || got.MaxWaiting != 64 || got.MaxRequestBatch != 1000 {
		t.Errorf("the consumer has the limits %+v", got)
	}
	batch, err := changed.Fetch(1001)
	if err == nil {
		for range batch.Messages() {
			t.Error("a batch beyond the limit has a message")
		}
		err = batch.Error()
	}
	if err == nil {
		t.Error("a batch beyond the limit is no error")
	}
	if err := conn.Publish("$JS.API.STREAM.NAMES", make([]byte, 20<<10)); err == nil {
		if err = conn.Flush(); err == nil {
			t.Error("a request beyond the limit is no error")
		}
	}
}

// TestTLS: with a certificate clients connect over TLS only, and the service's own connections need
// none.
func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, roots := certified(t)
	server, err := eventstream.Start(eventstream.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Derive: derive, Memory: 64 << 20,
		TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	writer, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.Close)
	r := &rig{Server: server, writer: writer}
	if err := writer.Create(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	path, _ := r.credentials(t, ours)
	if conn, err := nats.Connect(strings.Replace(server.URL(), "tls://", "nats://", 1), nats.UserCredentials(path), nats.NoReconnect(), patient); err == nil {
		conn.Close()
		t.Error("a client without TLS is connected")
	}
	conn, err := nats.Connect(server.URL(), nats.UserCredentials(path), nats.NoReconnect(), patient, nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// TestAddressInUse: a start on an address that is in use fails at once.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, address := range []string{taken.Addr().String(), "no address", "127.0.0.1:port"} {
		if s, err := eventstream.Start(eventstream.Config{Dir: t.TempDir(), Listen: address, Derive: derive}); err == nil {
			s.Close()
			t.Errorf("it starts on %s", address)
		} else if errors.Is(err, eventstream.ErrFailed) {
			t.Error(err)
		}
	}
}
