//go:build system

package clusters

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/clustertest"
	"payledger/eventstore/nodes"
	"payledger/processorsim/simulator"
)

const processorSecret = "one for all nodes"

// roleRig is a ledger whose nodes have roles, in this process.
type roleRig struct {
	url, simulator string
	made           ledger.Made
}

func (r *roleRig) start(t *testing.T, dir string, role nodes.Role) (a *app.App, stop func()) {
	t.Helper()
	o := apptest.TestOptions(dir)
	o.NatsURL, o.MasterKey, o.ReadTimeout, o.Role, o.ProcessorURL, o.ProcessorSecret = r.url, r.made.MasterKey, 0, role, r.simulator, []string{processorSecret}
	a, err := app.Start(context.Background(), o, zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel))
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return a, stop
}

func pay(t *testing.T, m *apptest.Merchant, order string) apptest.PaymentAnswer {
	t.Helper()
	answer, err := m.Pay(m.Token(t, order, 2000, "4111111111111111"), order)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("pay: %d %s %v", answer.Status, answer.Body, err)
	}
	var paid apptest.PaymentAnswer
	answer.Decode(t, &paid)
	return paid
}

// listens checks that the webhook of a payment reaches a program that reads it at the node without
// views.
func listens(t *testing.T, m *apptest.Merchant) {
	t.Helper()
	var made struct{ ID string }
	m.Must(t, "POST", "/management/webhook-listeners", m.Headers(), map[string]any{"eventTypes": []string{"PAYMENT.STATUS"}}).Decode(t, &made)
	base := "/management/webhook-listeners/" + made.ID
	stream := m.Stream(t, base+"/stream")
	stream.Message(t, "ready")
	paid := pay(t, m, "listened")
	var w struct{ ID, PaymentID string }
	if err := json.Unmarshal(stream.Message(t, "webhook"), &w); err != nil || w.PaymentID != paid.ID {
		t.Fatalf("%+v %v", w, err)
	}
	m.Must(t, "POST", base+"/answers", m.Headers(), map[string]any{"id": w.ID, "status": 200})
	apptest.Eventually(t, func() bool {
		sent := m.Must(t, "GET", "/management/webhook-deliveries?paymentId="+paid.ID, m.Headers(), nil)
		return strings.Contains(string(sent.Body), `"SUCCEEDED"`)
	})
	m.Must(t, "DELETE", base, m.Headers(), nil)
	if _, err := stream.Lines.ReadString(0); err == nil {
		t.Error("the stream of a deleted listener goes on")
	}
}

// refund captures and refunds a payment. Without a node with views the refund has a warning.
func refund(t *testing.T, m *apptest.Merchant, id string, warnings int) {
	t.Helper()
	var refunded struct {
		Warnings []struct{ Code string }
	}
	for _, operation := range []string{"capture", "refund"} {
		m.Must(t, "POST", "/payments/"+id+"/"+operation, m.Headers(), map[string]any{}).Decode(t, &refunded)
	}
	if len(refunded.Warnings) != warnings || warnings > 0 && refunded.Warnings[0].Code != "DISPUTES_NOT_READ" {
		t.Errorf("the refund has the warnings %v", refunded.Warnings)
	}
}

// save enters a card that is saved for a customer.
func save(t *testing.T, m *apptest.Merchant) apptest.Answer {
	t.Helper()
	var session struct {
		ClientToken string `json:"clientToken"`
	}
	m.Must(t, "POST", "/client-session", m.Headers(), map[string]any{"orderId": "saved", "currencyCode": "EUR", "amount": 100, "customerId": "ada"}).Decode(t, &session)
	answer, err := m.Call("POST", "/payment-instruments", map[string]string{"X-Client-Token": session.ClientToken}, map[string]any{
		"paymentFlow": "VAULT", "paymentInstrument": map[string]any{
			"number": "4111111111111111", "cvv": "737", "expirationMonth": "03", "expirationYear": apptest.Expires, "cardholderName": "Ada Lovelace",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestRoles: a node without views (--role api) keeps no file of them, and its lists show what it
// acknowledged before; without a node with views they are refused, and commands go on. A node with
// --role views owns no shard.
func TestRoles(t *testing.T) {
	url := clustertest.Start(t, 3, nil).Formed(t).URL(clustertest.User)
	r := &roleRig{url: url, made: apptest.InitCluster(t, url, "--shards", "2")}
	folders := [2]string{t.TempDir(), t.TempDir()}
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: []byte(processorSecret), Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() { sim.Close(); server.Close() })
	r.simulator = server.URL
	views, end := r.start(t, folders[1], nodes.RoleViews)
	api, _ := r.start(t, folders[0], nodes.RoleAPI)
	m := apptest.NewMerchant(api.API.URL, r.made.APIKey)
	for i := range 20 {
		order := fmt.Sprintf("order-%d", i)
		paid := pay(t, m, order)
		if i == 0 {
			refund(t, m, paid.ID, 0)
		}
		list := m.Must(t, "GET", "/payments?order_id="+order, m.Headers(), nil)
		if !strings.Contains(string(list.Body), paid.ID) {
			t.Fatalf("the list does not show payment %s: %s", paid.ID, list.Body)
		}
		if list.Header.Get("Payledger-Lag") == "" || list.Header.Get("X-Request-Id") == "" {
			t.Fatalf("headers are missing: %v", list.Header)
		}
	}
	if _, err := os.Stat(filepath.Join(folders[0], ledger.ViewsFolder)); !os.IsNotExist(err) {
		t.Errorf("the node without views has a folder for them: %v", err)
	}
	apptest.Eventually(t, func() bool { return views.Ledger.Store.Owned() == 0 && api.Ledger.Store.Owned() == 4 })
	listens(t, m)
	var made struct{ ID, APIKey string } // the change is made at the other node, and holds at both after the answer
	m.Must(t, "POST", "/management/api-keys", m.Headers(), map[string]any{"name": "second", "scopes": []string{"transactions:retrieve"}}).Decode(t, &made)
	second := apptest.NewMerchant(api.API.URL, made.APIKey)
	second.Must(t, "GET", "/payments?limit=1", second.Headers(), nil)
	m.Must(t, "DELETE", "/management/api-keys/"+made.ID, m.Headers(), nil)
	for _, path := range []string{"/payments?limit=1", "/payments/x"} {
		if answer, err := second.Call("GET", path, second.Headers(), nil); err != nil || answer.Status != http.StatusUnauthorized {
			t.Errorf("%s with a revoked key: %d %s %v", path, answer.Status, answer.Body, err)
		}
	}
	if saved := save(t, m); saved.Status != http.StatusOK {
		t.Errorf("a card that is saved as it is entered: %d %s", saved.Status, saved.Body)
	}
	cards := m.Must(t, "GET", "/payment-instruments?customer_id=ada", m.Headers(), nil)
	if n := strings.Count(string(cards.Body), `"token"`); n != 1 {
		t.Errorf("%d cards: %s", n, cards.Body)
	}
	for _, call := range passedCalls {
		if answer, err := m.Call("GET", call, m.Headers(), nil); err != nil || answer.Status >= http.StatusInternalServerError {
			t.Errorf("%s: %d %s %v", call, answer.Status, answer.Body, err)
		}
	}
	end()
	refused, err := m.Call("GET", "/payments", m.Headers(), nil)
	if err != nil || refused.Status != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" || !strings.Contains(string(refused.Body), "No node that keeps lists") {
		t.Fatalf("a list without a node with views: %d %v %s %v", refused.Status, refused.Header, refused.Body, err)
	}
	alone := pay(t, m, "alone")
	m.Read(t, alone.ID)
	refund(t, m, alone.ID, 1)
	if saved := save(t, m); saved.Status != http.StatusServiceUnavailable {
		t.Errorf("a card that is saved without a node that counts them: %d %s", saved.Status, saved.Body)
	}
	for _, call := range []string{
		"/payments/" + alone.ID + "/events", "/events", "/management/api-keys", "/management/payments/" + alone.ID, "/management/payments/" + alone.ID + "/events",
		"/docs", "/openapi.yaml", "/readyz",
	} {
		if answer, err := m.Call("GET", call, m.Headers(), nil); err != nil || answer.Status != http.StatusOK {
			t.Errorf("%s without a node with views: %d %s %v", call, answer.Status, answer.Body, err)
		}
	}
	r.start(t, folders[1], nodes.RoleViews)
	apptest.Eventually(t, func() bool {
		list, err := m.Call("GET", "/payments?order_id=alone", m.Headers(), nil)
		return err == nil && list.Status == http.StatusOK && strings.Contains(string(list.Body), alone.ID)
	})
}

// Calls that are passed on: lists, pages and proofs.
var passedCalls = []string{"/management/statistics", "/dashboard", "/checkpoints", "/management/disputes", "/management/webhook-deliveries", "/verifier-key", "/proof", "/unknown"}
