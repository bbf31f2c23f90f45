package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"payledger/domain/account"
)

// manage makes a call of the management.
func (r *rig) manage(method, path, body string) answer {
	r.t.Helper()
	return r.do(request{method: method, path: "/management" + path, body: body, header: map[string]string{"X-Api-Version": ""}})
}

// pages reads all pages of a list, cursor by cursor, and returns one field of each element.
func (r *rig) pages(path, field string, limit int) (all []string) {
	r.t.Helper()
	for cursor := ""; ; {
		page := r.want(r.manage("GET", fmt.Sprintf("%s?limit=%d&cursor=%s", path, limit, cursor), ""), 200, "")
		elements := page.field("data").([]any)
		for _, e := range elements {
			all = append(all, e.(map[string]any)[field].(string))
		}
		if cursor = page.text1("nextCursor"); cursor == "" {
			return all
		}
		if len(elements) != limit {
			r.t.Fatalf("a page of %d with a cursor: %s", limit, page.text)
		}
	}
}

// TestAtOnce checks that a new key works, and that lists contain new elements, as soon as the
// creating call has answered (D20).
func TestAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	names, urls := []string{"init"}, []string{}
	for i := range 30 {
		name, url := fmt.Sprint("key ", i), fmt.Sprintf("https://shop.example/%d", i)
		made := r.want(r.manage("POST", "/api-keys", `{"name":"`+name+`","scopes":["account:read"]}`), 200, "")
		listed := r.do(request{method: "GET", path: "/management/api-keys", header: map[string]string{"X-Api-Key": made.text1("apiKey")}})
		r.want(listed, 200, "")
		names = append(names, name)
		if n := len(listed.field("data").([]any)); n != len(names) {
			t.Errorf("%d keys listed, %d made", n, len(names))
		}
		r.want(r.manage("POST", "/webhook-endpoints", `{"url":"`+url+`"}`), 200, "")
		urls = append(urls, url)
	}
	for _, limit := range []int{1, 7, 30, 31, 100} {
		if got := r.pages("/api-keys", "name", limit); !slices.Equal(got, names) {
			t.Errorf("by %d: keys %q", limit, got)
		}
		if got := r.pages("/webhook-endpoints", "url", limit); !slices.Equal(got, urls) {
			t.Errorf("by %d: endpoints %q", limit, got)
		}
	}
}

// TestKeyRequests checks the fields that a request for a new key accepts (D2, D20).
func TestKeyRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	scopes, err := json.Marshal(account.Scopes)
	must(t, err)
	for _, c := range []struct {
		body string
		want []string // its faults; nil where it is fine
	}{
		{`{"name":"all","scopes":` + string(scopes) + `}`, nil},
		{`{"name":"offset","scopes":["events:read"],"expiresAt":"2099-01-01T00:00:00+05:30"}`, nil},
		{`{"name":"no offset","scopes":["events:read"],"expiresAt":"2099-01-01T00:00:00.5"}`, nil},
		{`{}`, []string{"$.name is required", "$.scopes is required"}},
		{`{"name":"n","scopes":[]}`, []string{"$.scopes must not be empty"}},
		{`{"name":"n","scopes":["account:write"],"expiresAt":"2020-01-01T00:00:00Z"}`, []string{"$.expiresAt must be in the future"}},
		{`{"name":"n","scopes":["account:write"],"expiresAt":"9999-12-31T23:59:59-01:00"}`, []string{"$.expiresAt must be an RFC 3339 date"}},
		{`{"name":"n","scopes":["account:write"],"expiresAt":"01/01/2099"}`, []string{"$.expiresAt must be an RFC 3339 date"}},
		{`{"name":"n","scopes":["account:write"],"apiKey":"plk_live_x"}`, []string{"$.apiKey is not a known field"}},
	} {
		a := r.manage("POST", "/api-keys", c.body)
		if c.want == nil {
			if r.want(a, 200, ""); !strings.HasPrefix(a.text1("apiKey"), "plk_sandbox_"+a.text1("id")+"_") {
				t.Errorf("%s: %s", c.body, a.text)
			}
			continue
		}
		var want []string
		for _, fault := range c.want {
			want = append(want, "ApiKeyRequest "+fault)
		}
		if r.want(a, 422, "RequestValidationError"); !slices.Equal(a.faults(), want) {
			t.Errorf("%s: %q", c.body, a.faults())
		}
	}
}

// TestEndpoints: D18, D20.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bare := r.want(r.manage("POST", "/webhook-endpoints", `{"url":"https://shop.example/"}`), 200, "")
	if kinds := bare.field("eventTypes").([]any); len(kinds) != 0 || bare.field("enabled") != true || bare.field("description") != "" {
		t.Errorf("endpoint %s", bare.text)
	}
	for body, want := range map[string][]string{
		`{}`: {"$.url is required"},
		`{"url":"https://shop.example/","eventTypes":["PAYMENT.STATUS","PAYMENT.STATUS"]}`: {"$.eventTypes must not name anything twice"},
		`{"url":"https://shop.example/","enabled":false}`:                                  {"$.enabled is not a known field"},
		`{"url":"https://10.0.0.1/"}`:                                                      {"$.url must not lead to a private address"},
		`{"url":""}`:                                                                       {"$.url must not be empty"},
	} {
		for i := range want {
			want[i] = "WebhookEndpointRequest " + want[i]
		}
		if a := r.want(r.manage("POST", "/webhook-endpoints", body), 422, "RequestValidationError"); !slices.Equal(a.faults(), want) {
			t.Errorf("%s: %q", body, a.faults())
		}
	}
	if got := r.pages("/webhook-endpoints", "url", 5); !slices.Equal(got, []string{"https://shop.example/"}) {
		t.Errorf("endpoints %q", got)
	}
}
