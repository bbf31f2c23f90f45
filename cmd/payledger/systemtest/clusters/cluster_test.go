//go:build system

package clusters

import (
	"net/http"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain/account"
	"payledger/eventstore/clustertest"
)

// TestClusterOfTwoNodes: two nodes serve the ledger that one init made; a second init is refused.
func TestClusterOfTwoNodes(t *testing.T) {
	c := clustertest.Start(t, 3, nil).Formed(t)
	url := c.URL(clustertest.User)
	made := apptest.InitCluster(t, url, "--shards", "2")
	if status, out, errs := apptest.RunInit(t, url); status != command.ExitFailure || out != "" || !strings.Contains(errs, "holds a ledger already") {
		t.Fatalf("a second init: status %d, %s%s", status, out, errs)
	}
	t.Setenv("PAYLEDGER_NATS_URL", url)
	t.Setenv("PAYLEDGER_MASTER_KEY", made.MasterKey)
	a := apptest.ServeProcess(t, "--data", t.TempDir())
	b := apptest.ServeProcess(t, "--data", t.TempDir(), "--processor-url", a.Ready.Simulator)
	if strings.Contains(a.Ready.NATS, clustertest.Password) {
		t.Errorf("the ready line has a password: %s", a.Ready.NATS)
	}
	atA, atB := apptest.NewMerchant(a.Ready.API, made.APIKey), apptest.NewMerchant(b.Ready.API, made.APIKey)
	answer, err := atA.Pay(atA.Token(t, "order-1", 2000, "4111111111111111"), "key-1")
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("pay: %d %s %v", answer.Status, answer.Body, err)
	}
	var paid apptest.PaymentAnswer
	answer.Decode(t, &paid)
	apptest.Eventually(t, func() bool {
		answer, err := atB.Call("POST", "/payments/"+paid.ID+"/capture", atB.Headers(), map[string]any{"amount": 1500})
		return err == nil && answer.Status == http.StatusOK
	})
	apptest.Eventually(t, func() bool {
		p, _ := atA.Read(t, paid.ID)
		return p.Status == "SETTLED"
	})
	b.Stop()
	a.Stop()
}

// TestClusterInitOfGivenKey: init does not print a master key that it was given, so no log of its
// output has it.
func TestClusterInitOfGivenKey(t *testing.T) {
	key := strings.Repeat("ab", 32)
	t.Setenv("PAYLEDGER_MASTER_KEY", key)
	url := clustertest.Start(t, 3, nil).Formed(t).URL(clustertest.User)
	status, out, errs := apptest.RunInit(t, url, "--shards", "2", "--json")
	if status != 0 || strings.Contains(out+errs, key) || !strings.Contains(out, `"apiKey":`) {
		t.Errorf("init exits %d: %s%s", status, out, errs)
	}
}

// TestClusterInitsAtOnce: of inits that run at the same moment one makes the ledger, or all give
// way to each other and the next one makes it.
func TestClusterInitsAtOnce(t *testing.T) {
	c := clustertest.Start(t, 3, nil).Formed(t)
	url := c.URL(clustertest.User)
	type result struct {
		made ledger.Made
		err  error
	}
	results := make(chan result, 4)
	for range cap(results) {
		go func() {
			var r result
			init := ledger.Cluster{NATS: options.NATS{NatsURL: url}, Replicas: 3, Shards: 2, Environment: account.Sandbox}
			r.err = init.Make(t.Context(), func(m ledger.Made) error { r.made = m; return nil })
			results <- r
		}()
	}
	var winners []ledger.Made
	for range cap(results) {
		switch r := <-results; {
		case r.err == nil:
			winners = append(winners, r.made)
		default:
			t.Log(r.err)
		}
	}
	if len(winners) > 1 {
		t.Fatalf("%d inits made the ledger", len(winners))
	}
	if len(winners) == 0 {
		winners = append(winners, apptest.InitCluster(t, url))
	}
	r := &apptest.CutRig{C: c, URL: url}
	r.Serves(t, &winners[0])
}
