package jetapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// connected returns a connection to a server without JetStream: the test answers its requests.
func connected(t *testing.T) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	ns, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(ns.Shutdown)
	if !ns.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server is not ready")
	}
	nc, err := nats.Connect("", append(Options(), nats.InProcessServer(ns))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

// TestListDuringElection: a list is requested until it has all streams, and an incomplete list is
// an error.
func TestListDuringElection(t *testing.T) {
	t.Parallel()
	nc, js := connected(t)
	const (
		silent   = ""
		noLeader = `{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`
		without  = `{"total":2,"streams":[{"config":{"name":"A"}}],"missing":["B"]}`
		first    = `{"total":2,"streams":[{"config":{"name":"A"}}]}`
		second   = `{"total":2,"offset":1,"streams":[{"config":{"name":"B"}}]}`
		disabled = `{"error":{"code":503,"err_code":10039,"description":"JetStream not enabled for account"}}`
	)
	for name, c := range map[string]struct {
		answers []string
		listed  int
		err     error
	}{
		"no leader of the cluster": {[]string{silent, noLeader, first, second}, 2, nil},
		"no leader of a stream":    {[]string{without, first, without, first, second}, 2, nil},
		"no JetStream":             {[]string{disabled}, 0, jetstream.ErrJetStreamNotEnabledForAccount},
		"never a leader":           {[]string{without}, 0, errIncomplete},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		asked := 0
		answering, err := nc.Subscribe("$JS.API.STREAM.LIST", func(m *nats.Msg) {
			answer := c.answers[min(asked, len(c.answers)-1)]
			if asked++; answer != silent {
				_ = m.Respond([]byte(answer))
			}
			if asked > len(c.answers) {
				cancel()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		infos, err := ListStreams(ctx, js, "")
		cancel()
		if len(infos) != c.listed || !errors.Is(err, c.err) {
			t.Errorf("%s: %d streams, %v", name, len(infos), err)
		}
		if err := answering.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}
