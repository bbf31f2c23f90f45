package external

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// natsServer returns the access of a user who may do everything, and of a user who may not publish the nodes' subject.
func natsServer(t *testing.T) (all, refused Access) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, Users: []*server.User{
		{Username: "all", Password: "pw"},
		{Username: "refused", Password: "pw", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{nodeSubject}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return Access{URL: "nats://all:pw@" + s.Addr().String()}, Access{URL: "nats://refused:pw@" + s.Addr().String()}
}

// answerTime is how long the tests wait for the answers of nodes on a busy machine.
const answerTime = 2 * time.Second

// TestBehind: a rotation finds the nodes that have not read its generation, and does not take a refused request for a cluster without nodes.
func TestBehind(t *testing.T) {
	t.Parallel()
	all, refused := natsServer(t)
	attend := func(address string, generation uint64) {
		p, err := Attend(all, Node{Address: address, Keys: []string{"new"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		if generation > 0 {
			p.Reads(func(context.Context) (uint64, error) { return generation, nil })
		}
	}
	behind := func(want ...string) {
		t.Helper()
		got, err := Behind(t.Context(), all, 5, answerTime)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q are behind: %v, want %q", got, err, want)
		}
	}
	behind()
	attend("current", 5)
	behind()
	attend("earlier", 4)
	attend("starting", 0)
	behind("earlier", "starting")
	nc, err := all.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if _, err := nc.Subscribe(nodeSubject, func(m *nats.Msg) { _ = m.Respond(nil) }); err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	behind("earlier", "of an older version", "starting")
	if without, err := WithoutKey(t.Context(), all, "new", answerTime); err != nil || !slices.Equal(without, []string{"of an older version"}) {
		t.Errorf("%q have no key: %v", without, err)
	}
	if _, err := WithoutKey(t.Context(), refused, "new", answerTime); err == nil || !strings.Contains(err.Error(), "let the NATS user publish and subscribe to "+nodeSubject) {
		t.Errorf("a refused request: %v", err)
	}
}
