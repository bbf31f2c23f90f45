//go:build system

package clusters

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain/childtest"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/eventstoretest"
)

// rollRig is a cluster with two nodes whose master key is rotated.
type rollRig struct {
	c        *clustertest.Cluster
	url, sim string
	made     ledger.Made
}

// start starts a node with a master key, and with the one before; "" if it has only one.
func (r *rollRig) start(t *testing.T, key, previous string) (*app.App, error) {
	o := apptest.TestOptions(t.TempDir())
	o.NatsURL, o.MasterKey, o.MasterKeyPrevious, o.ProcessorURL = r.url, key, previous, r.sim
	o.ProcessorSecret = []string{rollSecret}
	return app.Start(t.Context(), o, zerolog.Nop())
}

func (r *rollRig) mustStart(t *testing.T, key, previous string) *app.App {
	t.Helper()
	app, err := r.start(t, key, previous)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// again restarts a node with other keys.
func (r *rollRig) again(t *testing.T, app *app.App, key, previous string) *app.App {
	t.Helper()
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	return r.mustStart(t, key, previous)
}

// killed runs the command as a process, which is killed after a number of changes. It reports
// whether the command ended before.
func (r *rollRig) killed(t *testing.T, after int, key, previous string) (ended bool) {
	t.Helper()
	fell := make(chan struct{})
	g := apptest.NewGuillotine(t, r.c.Servers[after%3].Addr().String(), after, func() { close(fell) })
	command := childtest.Tied(exec.Command(os.Args[0], "rotate-master-key"))
	command.Env = append(os.Environ(), apptest.AsProgram+"=1", "PAYLEDGER_NATS_URL="+g.URL(), "PAYLEDGER_MASTER_KEY="+key, "PAYLEDGER_MASTER_KEY_PREVIOUS="+previous)
	var says bytes.Buffer
	command.Stdout, command.Stderr = &says, &says
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	select {
	case <-fell:
		_ = command.Process.Kill() // it may have ended just now
		<-done
		return false
	case err := <-done:
		g.Fall()
		if err != nil {
			t.Fatalf("rotate-master-key: %v: %s", err, says.String())
		}
		return true
	}
}

// TestClusterRotateMasterKey: the master key of a cluster is rotated by rolling restarts, while two
// nodes take payments, save cards, erase customers and send webhooks. The command is killed after
// many of its changes. Then only the new key opens the ledger, and no server's disk has a value
// that the old key opens: neither in a stream nor in the log of a Raft group.
func TestClusterRotateMasterKey(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	c := clustertest.Start(t, 3, func(_ int, o *server.Options) { o.Cluster.NoAdvertise = true }).Formed(t)
	r := &rollRig{c: c, url: c.URL(clustertest.User)}
	r.made = apptest.InitCluster(t, r.url, "--shards", "1")
	old, key := r.made.MasterKey, apptest.GoodMasterKey
	processors := apptest.TestOptions(t.TempDir())
	processors.ProcessorSecret = []string{rollSecret}
	r.sim = apptest.StartApp(t, processors).Sim.URL
	a, b := r.mustStart(t, old, ""), r.mustStart(t, old, "")
	inbox := &apptest.WebhookCounter{Came: map[string]int{}}
	receiver := httptest.NewServer(inbox)
	defer receiver.Close()
	m := apptest.NewMerchant(a.API.URL, r.made.APIKey)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": receiver.URL})
	before, erased := m.PayAs(t, apptest.HerCustomer), m.PayAs(t, "gone-customer")
	m.VaultAs(t, apptest.HerCustomer)
	m.Must(t, "POST", "/management/customers/gone-customer/erase", m.Headers(), nil)
	boxes := apptest.SealedIn(t, options.Options{Data: t.TempDir(), NATS: options.NATS{NatsURL: r.url}, MasterKey: old})

	t.Setenv("PAYLEDGER_NATS_URL", r.url)
	a = r.again(t, a, key, old)
	keysRefused(t, key, old, "does not have the new master key") // the other node
	b = r.again(t, b, key, old)
	keysRefused(t, old, key, "the ledger has this master key already")
	keysRefused(t, strings.Repeat("78", 32), strings.Repeat("56", 32), "does not have the new master key")
	keysRefused(t, key, strings.Repeat("56", 32), "is not the one of this ledger")
	t.Setenv("PAYLEDGER_MASTER_KEY", key)
	t.Setenv("PAYLEDGER_MASTER_KEY_PREVIOUS", old)
	for _, app := range []*app.App{a, b} { // with both keys, before the rotation
		r.has(t, app, []string{before}, erased)
	}
	paid := r.underLoad(t, []*app.App{a, b}, func() {
		maps.Copy(boxes, apptest.SealedIn(t, options.Options{Data: t.TempDir(), NATS: options.NATS{NatsURL: r.url}, MasterKey: old}))
		for after := 1; !r.killed(t, after, key, old); after *= 4 {
			t.Logf("killed after change %d", after)
		}
		if status, out, stderr := apptest.Invoke(t, "rotate-master-key"); status != 0 || !strings.Contains(out, "Nothing was changed") {
			t.Errorf("again it exits %d: %s%s", status, out, stderr)
		}
	})
	a, b = r.again(t, a, key, ""), r.again(t, b, key, "")
	for _, app := range []*app.App{a, b} {
		r.has(t, app, append(paid, before), erased)
	}
	if _, err := r.start(t, old, ""); err == nil || !strings.Contains(err.Error(), "is not the one of this ledger") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a node that was away starts with the old key: %v", err)
	}
	for _, s := range c.Servers {
		apptest.Eventually(t, func() bool { return len(filesWith(t, s.StoreDir(), boxes)) == 0 })
	}
	for _, app := range []*app.App{a, b} {
		if err := app.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// has checks that a node has payments with their personal data, and not that of an erased customer.
func (r *rollRig) has(t *testing.T, app *app.App, paid []string, erased string) {
	t.Helper()
	m := apptest.NewMerchant(app.API.URL, r.made.APIKey)
	for _, id := range paid {
		if _, body := m.Read(t, id); len(apptest.Shown(string(body))) == 0 {
			t.Errorf("payment %s shows no personal data: %s", id, body)
		}
	}
	if _, body := m.Read(t, erased); len(apptest.Shown(string(body))) > 0 {
		t.Errorf("erased data is back: %s", body)
	}
	newer := m.PayAs(t, apptest.HerCustomer)
	apptest.Eventually(t, func() bool { // a list may lag
		found := string(m.Must(t, "GET", "/payments?limit=100&customer_email_address="+apptest.HerValues[0], m.Headers(), nil).Body)
		return strings.Contains(found, newer)
	})
	m.AwaitDelivered(t, newer)
}

// keysRefused checks that the command refuses keys with one line.
func keysRefused(t *testing.T, key, previous, says string) {
	t.Helper()
	t.Setenv("PAYLEDGER_MASTER_KEY", key)
	t.Setenv("PAYLEDGER_MASTER_KEY_PREVIOUS", previous)
	if status, out, stderr := apptest.Invoke(t, "rotate-master-key"); status != command.ExitFailure || out != "" || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("instead of %q it exits %d: %s%s", says, status, out, stderr)
	}
}

// rollSecret signs the notifications of the processors, whichever master key a node has.
const rollSecret = "the processors of a cluster whose key is rotated"

// underLoad calls do while every node takes payments of new customers. It returns the payments.
func (r *rollRig) underLoad(t *testing.T, nodes []*app.App, do func()) (paid []string) {
	t.Helper()
	stop, mu, running := make(chan struct{}), sync.Mutex{}, sync.WaitGroup{}
	for n, app := range nodes {
		m := apptest.NewMerchant(app.API.URL, r.made.APIKey)
		running.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := m.PayAs(t, fmt.Sprintf("customer-%d-%d", n, i))
				mu.Lock()
				paid = append(paid, id)
				mu.Unlock()
			}
		})
	}
	do()
	close(stop)
	running.Wait()
	if len(paid) < 2 {
		t.Fatal("nothing was paid meanwhile")
	}
	return slices.Clone(paid)
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
