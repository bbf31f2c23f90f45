package external

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// natsServer returns the access of a user who may do everything, and of a user who may not publish
// the nodes' subject.
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

// TestBehind: a rotation finds the nodes that have not read its generation, and does not take a
// refused request for a cluster without nodes.
func TestBehind(t *testing.T) {
	t.Parallel()
	var asking sync.WaitGroup // each call waits for answerTime, and all at the same time
	current, earlier, starting := attending{"current", 5}, attending{"earlier", 4}, attending{"starting", 0}
	for name, c := range map[string]struct {
		nodes   []attending
		older   bool // one node of an older version
		behind  []string
		keyless []string
	}{
		"no node":          {},
		"one node":         {nodes: []attending{current}},
		"nodes behind":     {nodes: []attending{current, earlier, starting}, behind: []string{"earlier", "starting"}},
		"an older version": {nodes: []attending{current, earlier}, older: true, behind: []string{"earlier", "of an older version"}, keyless: []string{"of an older version"}},
	} {
		all, refused := natsServer(t)
		for _, n := range c.nodes {
			n.attend(t, all)
		}
		if c.older {
			nc, err := all.Connect()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(nc.Close)
			if _, err := nc.Subscribe(nodeSubject, func(m *nats.Msg) { _ = m.Respond(nil) }); err != nil || nc.Flush() != nil {
				t.Fatal(err)
			}
		}
		asking.Go(func() {
			if got, err := Behind(t.Context(), all, 5, answerTime); err != nil || !slices.Equal(got, c.behind) {
				t.Errorf("%s: %q are behind: %v, want %q", name, got, err, c.behind)
			}
		})
		asking.Go(func() {
			if got, err := WithoutKey(t.Context(), all, "new", answerTime); err != nil || !slices.Equal(got, c.keyless) {
				t.Errorf("%s: %q have no key: %v, want %q", name, got, err, c.keyless)
			}
		})
		asking.Go(func() {
			if _, err := WithoutKey(t.Context(), refused, "new", answerTime); err == nil || !strings.Contains(err.Error(), "let the NATS user publish and subscribe to "+nodeSubject) {
				t.Errorf("%s: a refused request: %v", name, err)
			}
		})
	}
	asking.Wait()
}

// attending is a node that attends.
type attending struct {
	address    string
	generation uint64 // that it has read; 0: none
}

func (n attending) attend(t *testing.T, a Access) {
	t.Helper()
	p, err := Attend(a, Node{Address: n.address, Keys: []string{"new"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if n.generation > 0 {
		p.Reads(func(context.Context) (uint64, error) { return n.generation, nil })
	}
}
