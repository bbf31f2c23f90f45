//go:build system

package clusters

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/nodes"
)

// nodeLink is a link from one node to a NATS server that the test cuts and mends.
type nodeLink struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	away  bool
	conns map[net.Conn]bool
}

func newNodeLink(t *testing.T, target string) *nodeLink {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &nodeLink{listener: listener, target: target, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { listener.Close(); w.cut(true) })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go w.link(client)
		}
	}()
	return w
}

func (w *nodeLink) link(client net.Conn) {
	defer client.Close()
	to, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer to.Close()
	w.mu.Lock()
	if w.away {
		w.mu.Unlock()
		return
	}
	w.conns[client], w.conns[to] = true, true
	w.mu.Unlock()
	go func() { _, _ = io.Copy(client, to); client.Close() }()
	_, _ = io.Copy(to, client) // ends with the connection
}

func (w *nodeLink) cut(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away = away; away {
		for c := range w.conns {
			c.Close()
		}
		clear(w.conns)
	}
}

// nodeRig is two nodes of one ledger in this process. The test sets the clocks of their leases, and
// can cut b off.
type nodeRig struct {
	c        *clustertest.Cluster
	made     ledger.Made
	a, b     *app.App
	atA, atB *apptest.Merchant
	wire     *nodeLink
	skew     [2]atomic.Int64
}

func newNodeRig(t *testing.T, change ...func(*options.Options)) *nodeRig {
	t.Helper()
	c := clustertest.Start(t, 3, func(_ int, o *server.Options) { o.Cluster.NoAdvertise = true }).Formed(t)
	url := c.URL(clustertest.User)
	made := apptest.InitCluster(t, url, "--shards", "2")
	r := &nodeRig{c: c, made: made, wire: newNodeLink(t, c.Servers[0].Addr().String())}
	r.skew[1].Store(int64(1000 * time.Hour)) // the clocks of two machines have nothing in common
	start := func(i int, url, simulator string) *app.App {
		o := apptest.TestOptions(t.TempDir())
		o.NatsURL, o.MasterKey, o.ProcessorURL, o.ReadTimeout = url, made.MasterKey, simulator, 0
		for _, c := range change {
			c(&o)
		}
		app, err := app.StartOn(context.Background(), o, zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel), time.Now,
			func() time.Duration { return nodes.Clock() + time.Duration(r.skew[i].Load()) }, func(*accounts.Credentials) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			r.wire.cut(false)
			if err := app.Stop(); err != nil {
				t.Error(err)
			}
		})
		return app
	}
	r.a = start(0, url, "")
	r.b = start(1, clustertest.At(clustertest.User, r.wire.listener.Addr()), r.a.Sim.URL)
	r.atA, r.atB = apptest.NewMerchant(r.a.API.URL, made.APIKey), apptest.NewMerchant(r.b.API.URL, made.APIKey)
	return r
}

func (r *nodeRig) account() domain.AccountID { return r.a.Views.Accounts()[0].ID }

// newKey makes an API key at node a.
func (r *nodeRig) newKey(t *testing.T) (id string, atB *apptest.Merchant) {
	t.Helper()
	var made struct {
		ID     string `json:"id"`
		APIKey string `json:"apiKey"`
	}
	r.atA.Must(t, "POST", "/management/api-keys", r.atA.Headers(), map[string]any{"name": "second", "scopes": []string{"transactions:retrieve"}}).Decode(t, &made)
	return made.ID, apptest.NewMerchant(r.b.API.URL, made.APIKey)
}

// TestNodesShareRates: a request that one node allowed counts at the other one.
func TestNodesShareRates(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	r := newNodeRig(t, func(o *options.Options) { o.RateLimit = 0.001 }) // each key has one request
	by := commands.Caller{Account: r.account(), Actor: "test", RequestID: "test"}
	var used []*apptest.Merchant // at node b; their keys had their request at node a
	apptest.Eventually(t, func() bool {
		_, key, err := r.a.Commands.CreateAPIKey(t.Context(), by, account.APIKey{Name: "one request", Scopes: account.Scopes})
		if err != nil {
			t.Fatal(err)
		}
		atA := apptest.NewMerchant(r.a.API.URL, key)
		atA.Must(t, "GET", "/payments", atA.Headers(), nil)
		used = append(used, apptest.NewMerchant(r.b.API.URL, key))
		if len(used) <= 3 {
			return false
		}
		atB := used[len(used)-4] // node a has had time to report
		answer, err := atB.Call("GET", "/payments", atB.Headers(), nil)
		if err != nil || answer.Status != http.StatusOK && answer.Status != http.StatusTooManyRequests {
			t.Fatalf("%d %s %v", answer.Status, answer.Body, err)
		}
		return answer.Status == http.StatusTooManyRequests
	})
}

// TestNodes runs two nodes of one ledger: an acknowledged change of one node is valid at the other,
// and a node that is cut off refuses requests.
func TestNodes(t *testing.T) {
	r := newNodeRig(t)
	t.Run("changes", func(t *testing.T) { testNodesApplyChanges(t, r) })
	t.Run("accounts", func(t *testing.T) { testNodesMakeAccounts(t, r) })
	t.Run("users", func(t *testing.T) { testNodesUsers(t, r) })
	t.Run("clock ahead", func(t *testing.T) { testNodeClockAhead(t, r) })
	t.Run("cut off", func(t *testing.T) { testNodeCutOff(t, r) })
	t.Run("views stopped", func(t *testing.T) { testNodeViewsStopped(t, r) }) // of node b, for good
}

// testNodesApplyChanges: after the answer of one node, the other one has applied the change (D20):
// a revoked key, a rotated secret, a deleted endpoint, an erased customer.
func testNodesApplyChanges(t *testing.T, r *nodeRig) {
	for range 5 {
		id, other := r.newKey(t)
		other.Must(t, "GET", "/payments", other.Headers(), nil) // the new key works at once at every node
		r.atA.Must(t, "DELETE", "/management/api-keys/"+id, r.atA.Headers(), nil)
		if answer, err := other.Call("GET", "/payments", other.Headers(), nil); err != nil || answer.Status != http.StatusUnauthorized {
			t.Fatalf("with a revoked key: %d %s %v", answer.Status, answer.Body, err)
		}
		if _, known := r.b.Views.APIKey(domain.APIKeyID(id)); known {
			t.Error("the directory of the other node has the revoked key")
		}
		var rotated struct {
			Hint     string   `json:"hint"`
			Warnings []string `json:"warnings"`
		}
		r.atA.Must(t, "POST", "/management/signing-secret/rotate", r.atA.Headers(), nil).Decode(t, &rotated)
		if there, _ := r.b.Views.Account(r.account()); there.Signing.Hint != rotated.Hint {
			t.Error("the other node signs with the previous secret")
		}
		var endpoint struct {
			ID string `json:"id"`
		}
		r.atA.Must(t, "POST", "/management/webhook-endpoints", r.atA.Headers(), map[string]any{"url": "http://127.0.0.1:1/hook", "eventTypes": []string{"PAYMENT.STATUS"}}).Decode(t, &endpoint)
		r.atA.Must(t, "DELETE", "/management/webhook-endpoints/"+endpoint.ID, r.atA.Headers(), nil)
		if there, _ := r.b.Views.Account(r.account()); len(there.Endpoints) > 0 {
			t.Error("the other node has the deleted endpoint")
		}
	}
	for _, customer := range []string{"c-1", "c-2", "c-3"} {
		shown := r.customer(t, customer)
		if !strings.Contains(shown(), customer+"@example.com") { // and the other node has the key in memory now
			t.Fatal("the other node does not show the customer")
		}
		r.atA.Must(t, "POST", "/management/customers/"+customer+"/erase", r.atA.Headers(), nil)
		if text := shown(); strings.Contains(text, "@example.com") {
			t.Errorf("after the erasure: %s", text)
		}
	}
}

// testNodesMakeAccounts: the key of a new account works at every node after the answer. Another
// node refuses the account's name and names the command that replaces lost credentials. The key of
// that command works at every node after its answer, too.
func testNodesMakeAccounts(t *testing.T, r *nodeRig) {
	for i := range 5 {
		name := fmt.Sprint("shop ", i)
		status, out, stderr := apptest.Invoke(t, "account", "create", name, "--data", r.a.Options.Data, "--json")
		var made accounts.Credentials
		if err := json.Unmarshal([]byte(out), &made); err != nil || status != 0 {
			t.Fatalf("exits %d: %s%s", status, out, stderr)
		}
		atB := apptest.NewMerchant(r.b.API.URL, made.APIKey)
		atB.Must(t, "GET", "/payments", atB.Headers(), nil)
		status, out, stderr = apptest.Invoke(t, "account", "create", name, "--data", r.b.Options.Data)
		if status != 1 || out != "" || !strings.Contains(stderr, "credentials reset --data "+r.b.Options.Data+" --account "+string(made.AccountID)) {
			t.Errorf("a second account of the name: exits %d: %s%s", status, out, stderr)
		}
		status, out, stderr = apptest.Invoke(t, "credentials", "reset", "--data", r.b.Options.Data, "--account", string(made.AccountID), "--json")
		var reset accounts.Credentials
		if err := json.Unmarshal([]byte(out), &reset); err != nil || status != 0 || reset.AccountID != made.AccountID || reset.APIKey == made.APIKey {
			t.Fatalf("a reset exits %d: %s", status, stderr)
		}
		atA := apptest.NewMerchant(r.a.API.URL, reset.APIKey)
		atA.Must(t, "GET", "/payments", atA.Headers(), nil)
	}
}

// testNodeClockAhead: a node whose clock is more than a day ahead does not destroy the previous
// signing secret, which signs webhooks of all nodes for 24 hours after a rotation.
func testNodeClockAhead(t *testing.T, r *nodeRig) {
	const ahead = account.SigningOverlap + time.Hour
	clock := func() time.Time { return time.Now().Add(ahead) }
	o := apptest.TestOptions(t.TempDir())
	o.NatsURL, o.MasterKey, o.ProcessorURL = r.c.URL(clustertest.User), r.made.MasterKey, r.a.Sim.URL
	late, err := app.StartOn(context.Background(), o, zerolog.Nop(), clock, nodes.Clock, func(*accounts.Credentials) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := late.Stop(); err != nil {
			t.Error(err)
		}
	}()
	r.atA.Must(t, "POST", "/management/signing-secret/rotate", r.atA.Headers(), nil)
	state, _ := late.Views.Account(r.account())
	previous := state.Signing.Previous.Secret
	over, known := late.Recoverer.Over()
	if !known {
		t.Fatal("the node does not know the time of the NATS servers")
	}
	late.Recoverer.RunOnce(t.Context(), over)
	if _, err := r.a.Ledger.Secrets.Get(t.Context(), previous); err != nil {
		t.Errorf("the previous secret is gone: %v", err)
	}
	late.Recoverer.RunOnce(t.Context(), clock()) // what the node's clock alone would destroy
	if _, err := late.Ledger.Secrets.Get(t.Context(), previous); err == nil {
		t.Error("the test shows nothing: the previous secret stands by the node's clock, too")
	}
}

// testNodeCutOff: a node that is cut off refuses requests before the other node stops waiting for
// it. It serves again when it has applied the missed events.
func testNodeCutOff(t *testing.T, r *nodeRig) {
	id, other := r.newKey(t)
	other.Must(t, "GET", "/payments", other.Headers(), nil)
	r.wire.cut(true)
	revoked := make(chan apptest.Answer, 1)
	go func() {
		a, _ := r.atA.Call("DELETE", "/management/api-keys/"+id, r.atA.Headers(), nil)
		revoked <- a
	}()
	apptest.Eventually(t, func() bool { // the event is in the log: the call waits for b
		_, known := r.a.Views.APIKey(domain.APIKeyID(id))
		return !known
	})
	r.skew[1].Add(int64(nodes.DefaultLease))
	answer, err := other.Call("GET", "/payments/none", other.Headers(), nil)
	if err != nil || answer.Status != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(string(answer.Body), "cut off") {
		t.Fatalf("a node that is cut off: %d %s %v", answer.Status, answer.Body, err)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/checkout?clientToken=x": 503, "/openapi.yaml": 503} {
		if answer, err := other.Call("GET", path, nil, nil); err != nil || answer.Status != want {
			t.Errorf("%s: %d %v", path, answer.Status, err)
		}
	}
	select {
	case a := <-revoked:
		t.Fatalf("the call did not wait for the node that is cut off: %d %s", a.Status, a.Body)
	default:
	}
	r.skew[0].Add(int64(nodes.DefaultSilence))
	if a := <-revoked; a.Status != http.StatusOK {
		t.Fatalf("revoke: %d %s", a.Status, a.Body)
	}
	r.wire.cut(false)
	apptest.Eventually(t, func() bool {
		answer, err := other.Call("GET", "/payments", other.Headers(), nil)
		if err == nil && answer.Status == http.StatusOK {
			t.Fatal("the node takes the revoked key")
		}
		return err == nil && answer.Status == http.StatusUnauthorized
	})
	r.atB.Must(t, "GET", "/payments", r.atB.Headers(), nil)
	apptest.Eventually(t, func() bool { return r.a.Nodes.Valid() == nil }) // its clock jumped: its lease may have ended with that
}

// testNodeViewsStopped: a node whose views cannot apply a change refuses requests, with the reason.
// The other node answers without it.
func testNodeViewsStopped(t *testing.T, r *nodeRig) {
	id, other := r.newKey(t)
	other.Must(t, "GET", "/payments", other.Headers(), nil)
	views, err := sql.Open("sqlite", "file:"+filepath.Join(r.b.Options.Data, ledger.ViewsFolder, "views.sqlite")+"?_pragma=busy_timeout(60000)")
	if err == nil {
		_, err = views.ExecContext(t.Context(), "DROP TABLE accounts")
	}
	if err = errors.Join(err, views.Close()); err != nil {
		t.Fatal(err)
	}
	r.atA.Must(t, "DELETE", "/management/api-keys/"+id, r.atA.Headers(), nil)
	if answer, err := other.Call("GET", "/payments", other.Headers(), nil); err != nil || answer.Status != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("a node without views: %d %s %v", answer.Status, answer.Body, err)
	}
	if reason := apptest.GetText(t, r.b.Admin.URL+"/readyz", http.StatusServiceUnavailable); !strings.Contains(reason, "no such table: accounts") {
		t.Errorf("readyz: %s", reason)
	}
}
