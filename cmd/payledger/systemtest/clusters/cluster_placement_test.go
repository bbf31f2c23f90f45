//go:build system

package clusters

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain/account"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
)

// TestClusterPlacement: of four servers three have the wanted tag. They hold every stream, also
// those that a node makes later. A placement that too few servers match is refused before anything
// is made.
func TestClusterPlacement(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 4, func(i int, o *server.Options) {
		if o.Tags = []string{"ledger", "zone:b"}; i == 1 {
			o.Tags = []string{"zone:b"}
		}
	}).Formed(t)
	url := c.URL(clustertest.User)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, says string }{
		{"--nats-placement-tags=ledger,zone:a", "(tags ledger, zone:a), and 0 match ()"},
		{"--nats-placement-cluster=other", "(cluster other), and 0 match ()"},
		{"--nats-replicas=5 --nats-placement-tags=ledger", "and 3 match (n1, n3, n4)"},
		{"--nats-placement-tags=ledger,,b", "has an empty tag"},
	} {
		status, out, errs := apptest.RunInit(t, url, strings.Fields(c.args)...)
		if status == 0 || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%s: status %d, %s%s", c.args, status, out, errs)
		}
	}
	if names := slices.Collect(chanOf(js.StreamNames(t.Context()).Name())); len(names) > 0 {
		t.Errorf("a refused init made %v", names)
	}
	made := apptest.InitCluster(t, url, "--shards", "1", "--nats-placement-tags", "Ledger,zone:b", "--nats-placement-cluster", "test")
	r := &rollRig{c: c, url: url, made: made}
	processors := apptest.TestOptions(t.TempDir())
	processors.ProcessorSecret = []string{rollSecret}
	r.sim = apptest.StartApp(t, processors).Sim.URL
	app := r.mustStart(t, made.MasterKey, "")
	apptest.NewMerchant(app.API.URL, made.APIKey).PayAs(t, apptest.HerCustomer)
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), options.Options{Data: t.TempDir(), NATS: options.NATS{NatsURL: url}, MasterKey: made.MasterKey}, ledger.Existing,
		engine.Config{Logger: zerolog.Nop(), SegmentBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	accountsMade, tries := 0, 0
	apptest.Eventually(t, func() bool { // each account fills a segment; the next one has no leader at first
		tries++
		_, err := accounts.Create(t.Context(), l.Store, l.Secrets, rand.Reader, fmt.Sprint("account-", tries), account.Sandbox, "cli:test")
		if err == nil {
			accountsMade++
		}
		return accountsMade == 2
	})
	apptest.Eventually(t, func() bool {
		_, err := js.Stream(t.Context(), "LEDGER_0_2")
		return err == nil
	})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	placed(t, js)
}

// placed checks where the streams are.
func placed(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	kinds := map[string]bool{}
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		name := info.Config.Name
		kind, _, _ := strings.Cut(name, "_")
		kinds[kind] = true
		if p := info.Config.Placement; p == nil || p.Cluster != "test" || !slices.Equal(p.Tags, []string{"Ledger", "zone:b"}) {
			t.Errorf("%s has the placement %+v", name, p)
		}
		servers := []string{info.Cluster.Leader}
		for _, replica := range info.Cluster.Replicas {
			servers = append(servers, replica.Name)
		}
		if len(servers) != 3 || slices.Contains(servers, "n2") {
			t.Errorf("%s is on %v", name, servers)
		}
	}
	if err := list.Err(); err != nil || !kinds["NODES"] || len(kinds) < 5 {
		t.Errorf("streams of the kinds %v, %v", kinds, err)
	}
}

// chanOf returns the values of a channel.
func chanOf[V any](c <-chan V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for v := range c {
			if !yield(v) {
				return
			}
		}
	}
}
