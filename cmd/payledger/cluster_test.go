package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain/account"
	"payledger/eventstore/clustertest"
)

// initCluster runs `payledger init` for a cluster, and returns what it printed.
func initCluster(t testing.TB, url string, args ...string) ledger.Made {
	t.Helper()
	status, out, errs := runInit(t, url, append(args, "--json")...)
	if status != 0 {
		t.Fatalf("init: status %d: %s", status, errs)
	}
	var made ledger.Made
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return made
}

func runInit(t testing.TB, url string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(append([]string{"init", "--nats-url", url}, args...), &out, &errs)
	if strings.Contains(errs.String(), clustertest.Password) || strings.Count(errs.String(), "\n") > 1 {
		t.Errorf("stderr has a password, or more than one line: %s", errs.String())
	}
	return status, out.String(), errs.String()
}

// Two nodes serve the ledger that one init made; a second init is refused.
func TestClusterOfTwoNodes(t *testing.T) {
	c := clustertest.Start(t, 3, nil).Formed(t)
	url := c.URL(clustertest.User)
	made := initCluster(t, url, "--shards", "2")
	if status, out, errs := runInit(t, url); status != exitFailure || out != "" || !strings.Contains(errs, "holds a ledger already") {
		t.Fatalf("a second init: status %d, %s%s", status, out, errs)
	}
	t.Setenv("PAYLEDGER_NATS_URL", url)
	t.Setenv("PAYLEDGER_MASTER_KEY", made.MasterKey)
	a := serveProcess(t, "--data", t.TempDir())
	b := serveProcess(t, "--data", t.TempDir(), "--processor-url", a.ready.Simulator)
	if strings.Contains(a.ready.NATS, clustertest.Password) {
		t.Errorf("the ready line has a password: %s", a.ready.NATS)
	}
	atA, atB := newMerchant(a.ready.API, made.APIKey), newMerchant(b.ready.API, made.APIKey)
	answer, err := atA.pay(atA.token(t, "order-1", 2000, "4111111111111111"), "key-1")
	if err != nil || answer.status != http.StatusOK {
		t.Fatalf("pay: %d %s %v", answer.status, answer.body, err)
	}
	var paid paymentAnswer
	answer.decode(t, &paid)
	eventually(t, func() bool {
		answer, err := atB.call("POST", "/payments/"+paid.ID+"/capture", atB.headers(), map[string]any{"amount": 1500})
		return err == nil && answer.status == http.StatusOK
	})
	eventually(t, func() bool {
		p, _ := atA.read(t, paid.ID)
		return p.Status == "SETTLED"
	})
	b.stop()
	a.stop()
}

// Of inits that run at the same moment one makes the ledger, or all give way to each other and the next one makes it.
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
		winners = append(winners, initCluster(t, url))
	}
	r := &cutRig{c: c, url: url}
	r.serves(t, &winners[0])
}
