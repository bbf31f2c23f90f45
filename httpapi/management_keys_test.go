package httpapi_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/domain/account"
	"payledger/eventstore"
	"payledger/eventstore/commands"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/service"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/httpapi/openapitest"
	"payledger/projections"
	"payledger/projections/history"
)

// with makes a call of the management with a key.
func (r *rig) with(key, method, path, body string) answer {
	r.t.Helper()
	return r.do(request{method: method, path: "/management" + path, body: body, header: map[string]string{"X-Api-Version": "", "X-Api-Key": key}})
}

// newKey makes an API key.
func (r *rig) newKey(scopes string) (id, text string) {
	r.t.Helper()
	made := r.want(r.manage("POST", "/api-keys", `{"name":"backend","scopes":[`+scopes+`]}`), 200, "")
	return made.text1("id"), made.text1("apiKey")
}

// TestRevoke: a revoked key works no more, is in no list, and is not there to be revoked again
// (D20).
func TestRevoke(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, key := r.newKey(`"account:read"`)
	r.want(r.with(key, "GET", "/api-keys", ""), 200, "")
	r.want(r.with(key, "DELETE", "/api-keys/"+id, ""), 403, "MissingScope")
	revoked := r.want(r.manage("DELETE", "/api-keys/"+id, ""), 200, "")
	if revoked.text1("id") != id || revoked.text1("name") != "backend" || strings.Contains(revoked.text, key) {
		t.Errorf("answered %s", revoked.text)
	}
	r.want(r.with(key, "GET", "/api-keys", ""), 401, "Unauthorized")
	if names := r.pages("/api-keys", "name", 10); len(names) != 1 || names[0] != "init" {
		t.Errorf("listed are %q", names)
	}
	for _, unknown := range []string{id, "nobody", strings.Repeat("x", 64)} {
		r.want(r.manage("DELETE", "/api-keys/"+unknown, ""), 404, "EntityNotFound")
	}
	id, key = r.newKey(`"account:write"`)
	r.want(r.with(key, "DELETE", "/api-keys/"+id, ""), 200, "")
	r.want(r.with(key, "DELETE", "/api-keys/"+id, ""), 401, "Unauthorized")
}

// TestScopesOfTheManagement: account:write has three parts, each of which allows its own calls and
// no others. Money is moved below /management only with the operation's own scope, by a workflow as
// well, and a key gives no scope that it lacks (D22.15).
func TestScopesOfTheManagement(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	parts := []string{account.ScopeSettingsWrite, account.ScopeKeysWrite, account.ScopeUsersWrite}
	calls := map[string][][3]string{
		account.ScopeSettingsWrite: {{"PATCH", "/settings", `{}`}, {"PUT", "/routing", `{"rules":[],"default":[]}`}, {"PATCH", "/processors/ADYEN", `{"enabled":true}`}, {"DELETE", "/webhook-endpoints/none", ""}, {"POST", "/workflows/none/disable", ""}},
		account.ScopeKeysWrite:     {{"DELETE", "/api-keys/none", ""}, {"POST", "/signing-secret/rotate", ""}},
		account.ScopeUsersWrite:    {{"DELETE", "/users/none", ""}, {"PATCH", "/users/none", `{"role":"auditor"}`}},
	}
	var keys []string
	for _, scope := range append(slices.Clone(parts), account.ScopeAccountWrite) {
		keys = append(keys, r.keyWith(scope))
	}
	for i, part := range parts {
		for _, c := range calls[part] {
			for k, key := range keys {
				allowed := k == i || k == len(parts)
				if a := r.with(key, c[0], c[1], c[2]); (a.errorID() == "MissingScope") == allowed {
					t.Errorf("%s %s, which needs %s, with key %d: %s", c[0], c[1], part, k, a.text)
				}
			}
		}
	}
	r.want(r.with(keys[1], "POST", "/api-keys", `{"name":"n","scopes":["keys:write","transactions:refund"]}`), 403, "MissingScope")
	r.want(r.with(keys[3], "POST", "/api-keys", `{"name":"n","scopes":["keys:write","settings:write"]}`), 200, "")

	payment := "/payments/" + r.want(r.pay(payWith(r.tokenize(r.session(someSession), goodCard))), 200, "").text1("id")
	for _, o := range []struct{ path, scope string }{
		{"/capture", account.ScopeTransactionsCapture}, {"/refund", account.ScopeTransactionsRefund}, {"/cancel", account.ScopeTransactionsCancel},
	} {
		for _, poor := range [][]string{{account.ScopeAccountWrite}, {o.scope}} {
			if a := r.want(r.with(r.keyWith(poor...), "POST", payment+o.path, `{}`), 403, "MissingScope"); !strings.Contains(a.text, account.ScopeAccountWrite) && !strings.Contains(a.text, o.scope) {
				t.Errorf("%s: %s", o.path, a.text)
			}
		}
		if a := r.with(r.keyWith(account.ScopeAccountWrite, o.scope), "POST", payment+o.path, `{}`); a.errorID() == "MissingScope" {
			t.Errorf("%s with both scopes: %s", o.path, a.text)
		}
	}
	const refunds = `{"name":"w","enabled":false,"trigger":{"eventType":"PAYMENT.STATUS","status":"SETTLED"},"condition":"true","actions":[{"type":"refund"}]}`
	a := r.want(r.with(keys[3], "POST", "/workflows", refunds), 403, "MissingScope")
	if !strings.Contains(a.text, account.ScopeTransactionsRefund) {
		t.Error(a.text)
	}
	both := r.keyWith(account.ScopeSettingsWrite, account.ScopeTransactionsRefund)
	id := r.want(r.with(both, "POST", "/workflows", refunds), 200, "").text1("id")
	r.want(r.with(keys[0], "PUT", "/workflows/"+id, refunds), 403, "MissingScope")
	r.want(r.with(keys[0], "POST", "/workflows/"+id+"/enable", ""), 403, "MissingScope")
	r.want(r.with(both, "POST", "/workflows/"+id+"/enable", ""), 200, "")
	r.want(r.with(keys[0], "POST", "/workflows/"+id+"/disable", ""), 200, "")
}

// TestLastUsedAt: each key has the minute of its last use; uses write no event (D20).
func TestLastUsedAt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, key := r.newKey(`"account:read"`)
	lastUsed := func() (used string) {
		t.Helper()
		for _, k := range r.want(r.manage("GET", "/api-keys", ""), 200, "").field("data").([]any) {
			if k := k.(map[string]any); k["id"] == id && k["lastUsedAt"] != nil {
				used = k["lastUsedAt"].(string)
			}
		}
		return used
	}
	if used := lastUsed(); used != "" {
		t.Errorf("used at %s before its first use", used)
	}
	events := r.events()
	for range 2 {
		before := r.now().Truncate(time.Minute)
		for range 20 {
			r.want(r.with(key, "GET", "/settings", ""), 200, "")
		}
		after := r.now().Truncate(time.Minute)
		at, err := time.Parse(time.RFC3339, lastUsed())
		if err != nil || at.Before(before) || at.After(after) || at.Second() != 0 {
			t.Errorf("last used at %s, %v; it was used from %s to %s", at, err, before, after)
		}
		r.late.Add(600)
	}
	if now := r.events(); now != events {
		t.Errorf("the uses wrote %d events", now-events)
	}
}

// lateNode is a node that shares a log with others. Its views have not changed since its start.
type lateNode struct {
	*rig
	stop func() // ends the projector of the views
}

// newLateNode starts a node on a cluster; its views show the log as it is now until stop.
func newLateNode(t *testing.T, config engine.Config, made accounts.Credentials) *lateNode {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), log: &safeBuffer{}, answers: &safeBuffer{}, account: made}
	ctx, stop := context.WithCancel(context.Background())
	r.store = eventstoretest.OpenOn(t, config)
	vault := eventstoretest.Secrets(t, r.store)
	fanout := eventstore.NewFanout(r.store)
	var err error
	r.views, err = projections.Open(ctx, projections.Config{
		Dir: r.dir, Store: r.store, Fanout: fanout, Secrets: vault, Logger: zerolog.Nop(), Now: r.now,
	})
	must(t, err)
	r.service = service.New(commands.Config{
		Store: r.store, Secrets: vault, Account: r.views.Account, PaymentAccount: r.views.PaymentAccount,
		PaymentTimeout: time.Minute, ActionTimeout: time.Hour, ClientTokenTTL: time.Hour, Random: rand.Reader, Logger: zerolog.Nop(),
	})
	var loops sync.WaitGroup
	loops.Go(func() { run(ctx, t, fanout.Run) })
	loops.Go(func() { run(ctx, t, r.views.Run) })
	n := &lateNode{rig: r, stop: sync.OnceFunc(func() { stop(); loops.Wait() })}
	t.Cleanup(func() { r.service.Close(); n.stop(); must(t, r.views.Close()) })
	must(t, r.views.CaughtUp(ctx))
	api, err := httpapi.New(httpapi.Config{
		Commands: r.service, Reader: r.views, History: &history.Reader{Store: r.store, Secrets: vault, Now: r.now},
		ClientTokenKey: tokenKey, PublicURL: "https://pay.example/", Environment: account.Sandbox, Random: rand.Reader,
		Now: r.now, Logger: zerolog.Nop(),
		Ready:    func(context.Context) error { return nil },
		CheckURL: func(context.Context, string) error { return errors.New("is not checked here") },
	})
	must(t, err)
	web := httptest.NewServer(api)
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); web.Close() })
	r.url, r.client = web.URL, openapitest.Client(t, transport)
	return n
}

// TestRevokedOnOtherNodes: after one node has revoked a key, the next request to another node is
// refused, although that node's views are older (D20).
func TestRevokedOnOtherNodes(t *testing.T) {
	t.Parallel()
	config := eventstoretest.Cluster(t)
	maker := eventstoretest.OpenOn(t, config)
	made := accountstest.Initialize(t, maker, eventstoretest.Secrets(t, maker))
	here := newLateNode(t, config, made)
	id, key := here.newKey(`"account:read"`)
	other := newLateNode(t, config, made)
	other.stop()
	for range 3 {
		other.want(other.with(key, "GET", "/settings", ""), 200, "")
	}
	here.want(here.manage("DELETE", "/api-keys/"+id, ""), 200, "")
	other.want(other.with(key, "GET", "/settings", ""), 401, "Unauthorized")
	here.want(here.with(key, "GET", "/settings", ""), 401, "Unauthorized")
	other.want(other.manage("GET", "/settings", ""), 200, "")
}
