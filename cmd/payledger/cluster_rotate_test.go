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

// The master key of a cluster is rotated while no node runs, also after a rotation that was cut short. Then only the new key opens the
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
	old := secretFile(t, made.MasterKey)
	args := []string{"rotate-master-key", "--data", t.TempDir(), "--master-key-file", old, "--new-master-key-file", secretFile(t, goodMasterKey)}
	if status, out, stderr := invoke(t, args...); status != exitFailure || out != "" || !strings.Contains(stderr, "stop every node") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("beside a node it exits %d: %s%s", status, out, stderr)
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
	if status, out, stderr := invoke(t, args...); status != 0 || !strings.Contains(out, "values are sealed") {
		t.Fatalf("it exits %d: %s%s", status, out, stderr)
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
