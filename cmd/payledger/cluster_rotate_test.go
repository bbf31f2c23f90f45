package main

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// The command refuses a cluster; what it would run is tested here. The master key of a cluster is rotated while no node runs, also after a
// rotation that was cut short. Then only the new key opens the
// ledger, and no server's disk has a value that the old key opens: neither in a stream nor in the log of a Raft group.
func TestClusterRotateMasterKey(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, func(_ int, o *server.Options) { o.Cluster.NoAdvertise = true }).Formed(t)
	r := &cutRig{c: c, url: c.URL(clustertest.User)}
	made := initCluster(t, r.url, "--shards", "1")
	app, err := r.start(t, made.MasterKey)
	if err != nil {
		t.Fatal(err)
	}
	m := newMerchant(app.api.URL, made.APIKey)
	answer, err := m.pay(m.token(t, "order-1", 2000, "4111111111111111"), "key-1")
	if err != nil || answer.status != http.StatusOK {
		t.Fatalf("pay: %d %s %v", answer.status, answer.body, err)
	}
	whole := ledger.Rotation{Options: options.Options{Data: t.TempDir(), NATS: options.NATS{NatsURL: r.url}, MasterKey: made.MasterKey}, Next: goodMasterKey}
	if _, err := whole.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "stop every node") {
		t.Errorf("beside a node: %v", err)
	}
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := newGuillotine(t, c.Servers[0].Addr().String(), 5, cancel) // within the values
	cut := ledger.Rotation{Options: options.Options{Data: t.TempDir(), NATS: options.NATS{NatsURL: g.url()}, MasterKey: made.MasterKey}, Next: strings.Repeat("56", 32)}
	if done, err := cut.Run(ctx); err == nil {
		t.Fatalf("a rotation that was cut short: %+v", done)
	}
	r.serves(t, &made) // the old key is the only one
	boxes := sealedIn(t, options.Options{Data: t.TempDir(), NATS: options.NATS{NatsURL: r.url}, MasterKey: made.MasterKey})
	if done, err := whole.Run(t.Context()); err != nil || done.Values == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := r.start(t, made.MasterKey); err == nil {
		t.Fatal("the old key still opens the ledger")
	}
	made.MasterKey = goodMasterKey
	r.serves(t, &made)
	for _, s := range c.Servers {
		eventually(t, func() bool { return len(filesWith(t, s.StoreDir(), boxes)) == 0 })
	}
}

// filesWith returns the files of a running server that hold one of the values.
func filesWith(t *testing.T, dir string, values map[string][]byte) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerror // it was removed meanwhile
		}
		content, _ := os.ReadFile(path)
		for name, value := range values {
			if !strings.HasPrefix(name, "card.") && bytes.Contains(content, value) { // a card is sealed with the key of its minute
				found = append(found, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
