package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi"
	"payledger/projections/deliveries"
)

// allKinds is every kind of webhook (§6.2).
const allKinds = `["PAYMENT.STATUS","PAYMENT.REFUND","PAYMENT.CAPTURE.FAILED","PAYMENT.REFUND.FAILED","PAYMENT.CANCELLATION.FAILED",` +
	`"PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED","DISPUTE.OPENED","DISPUTE.STATUS","WORKFLOW_RUN.FAILED"]`

// endpoint creates a webhook endpoint and returns the answer.
func (r *rig) endpoint(body string) answer {
	r.t.Helper()
	return r.want(r.manage("POST", "/webhook-endpoints", body), 200, "")
}

// TestEndpointChanges checks that a PATCH changes only the fields it names and returns the whole
// endpoint. A change without effect records nothing (D20).
func TestEndpointChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint(`{"url":"https://shop.example/other"}`)
	made := r.endpoint(`{"url":"https://shop.example/","description":"shop","eventTypes":["PAYMENT.STATUS"]}`)
	id := made.text1("id")
	as := func(url, description, kinds string, enabled bool) string {
		return fmt.Sprintf(`{"id":%q,"url":%q,"description":%q,"eventTypes":%s,"enabled":%t,"createdAt":%q}`,
			id, url, description, kinds, enabled, made.text1("createdAt"))
	}
	const one, other = "https://shop.example/", "http://203.0.113.9:8080/hooks?x=1"
	for _, c := range []struct {
		sent, want string
		records    uint64
	}{
		{`{}`, as(one, "shop", `["PAYMENT.STATUS"]`, true), 0},
		{`{"url":"` + one + `","description":"shop","eventTypes":["PAYMENT.STATUS"],"enabled":true}`, as(one, "shop", `["PAYMENT.STATUS"]`, true), 0},
		{`{"url":"` + other + `"}`, as(other, "shop", `["PAYMENT.STATUS"]`, true), 1},
		{`{"enabled":false,"description":""}`, as(other, "", `["PAYMENT.STATUS"]`, false), 1},
		{`{"eventTypes":` + allKinds + `}`, as(other, "", allKinds, false), 1},
		{`{"eventTypes":[]}`, as(other, "", `[]`, false), 1},
		{`{"eventTypes":[],"enabled":true}`, as(other, "", `[]`, true), 1},
	} {
		before := r.events()
		sameJSON(t, c.sent, r.want(r.manage("PATCH", "/webhook-endpoints/"+id, c.sent), 200, ""), c.want)
		if n := r.events() - before; n != c.records {
			t.Errorf("%s recorded %d events", c.sent, n)
		}
		listed := r.want(r.manage("GET", "/webhook-endpoints", ""), 200, "")
		if got := listed.field("data").([]any)[1].(map[string]any); got["url"] != map[bool]string{true: one, false: other}[strings.Contains(c.want, one)] {
			t.Errorf("%s: listed as %v", c.sent, got)
		}
	}
	if got := r.pages("/webhook-endpoints", "url", 1); !slices.Equal(got, []string{"https://shop.example/other", other}) {
		t.Errorf("endpoints %q", got)
	}
}

// TestEndpointChangeFaults: every fault of a change at once, and an unknown id is none (D3, D18,
// D20).
func TestEndpointChangeFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.endpoint(`{"url":"https://shop.example/"}`).text1("id")
	for body, want := range map[string][]string{
		`{"url":"","description":5,"eventTypes":["PAYMENT.LOST"],"enabled":"no","id":"x"}`: {
			"$.description must be a string", "$.enabled must be true or false",
			"$.eventTypes[0] must be one of " + strings.NewReplacer(`"`, "", "[", "", "]", "", ",", ", ").Replace(allKinds),
			"$.id is not a known field", "$.url must not be empty",
		},
		`{"url":null,"eventTypes":null,"enabled":null}`:                     {"$.enabled must be true or false", "$.eventTypes must be an array", "$.url must be a string"},
		`{"url":"https://10.0.0.1/"}`:                                       {"$.url must not lead to a private address"},
		`{"description":"` + strings.Repeat("x", 256) + `"}`:                {"$.description must be at most 255 characters long"},
		`{"description":"of 4111 1111 1111 1111"}`:                          {"$.description must not hold a card number: it holds 16 digits divided as on a card, with a prefix of VISA and a right check digit"},
		`{"eventTypes":["DISPUTE.OPENED","DISPUTE.OPENED"],"enabled":true}`: {"$.eventTypes must not name anything twice"},
	} {
		for i := range want {
			want[i] = "WebhookEndpointChange " + want[i]
		}
		before := r.events()
		a := r.want(r.manage("PATCH", "/webhook-endpoints/"+id, body), 422, "RequestValidationError")
		if !slices.Equal(a.faults(), want) || r.events() != before {
			t.Errorf("%s: %q", body, a.faults())
		}
	}
	r.want(r.manage("PATCH", "/webhook-endpoints/"+id, ""), 400, "MalformedJson")
	for _, unknown := range []string{"none", "%20", id + "0"} {
		r.want(r.manage("PATCH", "/webhook-endpoints/"+unknown, `{"enabled":true}`), 404, "EntityNotFound")
		r.want(r.manage("DELETE", "/webhook-endpoints/"+unknown, ""), 404, "EntityNotFound")
		r.want(r.manage("POST", "/webhook-endpoints/"+unknown+"/test", ""), 404, "EntityNotFound")
	}
	if get := r.want(r.manage("GET", "/webhook-endpoints/"+id, ""), 405, "MethodNotAllowed"); get.header.Get("Allow") != "PATCH, DELETE" {
		t.Errorf("it takes %s", get.header.Get("Allow"))
	}
}

// TestEndpointOnOwnMachine: the refusal of an address of the service's own machine names the ways
// to a developer's program, in the sandbox only (D18).
func TestEndpointOnOwnMachine(t *testing.T) {
	t.Parallel()
	const refused = "$.url must not lead to a loopback address (127.9.9.9)"
	for environment, more := range map[string]string{
		account.Sandbox:    "; for a program on your own machine run `payledger listen`, or start a service on that machine with --webhook-allow-cidr 127.0.0.0/8",
		account.Production: "",
	} {
		r := newRigIn(t, environment, usualTimeout, nil)
		for method, path := range map[string]string{"POST": "/webhook-endpoints", "PATCH": "/webhook-endpoints/" + r.endpoint(`{"url":"https://shop.example/"}`).text1("id")} {
			a := r.want(r.manage(method, path, `{"url":"https://127.9.9.9:9000/hook"}`), 422, "RequestValidationError")
			if got := a.faults(); len(got) != 1 || !strings.HasSuffix(got[0], " "+refused+more) {
				t.Errorf("%s, %s: %q", environment, method, got)
			}
		}
	}
}

// TestEndpointTest checks that the call returns the outcome of the test message, whatever the
// receiver did. An internal failure is not such an outcome (§6.1, D20). The tests of the whole
// service check that the message arrives.
func TestEndpointTest(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	var next struct {
		outcome deliveries.Attempt
		err     error
	}
	var asked []domain.EndpointID
	r := newRig(t, func(c *httpapi.Config) {
		c.TestEndpoint = func(_ context.Context, _ domain.AccountID, id domain.EndpointID) (deliveries.Attempt, error) {
			asked = append(asked, id)
			return next.outcome, next.err
		}
	})
	id := r.endpoint(`{"url":"https://shop.example/"}`).text1("id")
	const started = `"startedAt":"2026-03-04T05:06:07.000008Z"`
	for _, c := range []struct {
		outcome deliveries.Attempt
		want    string
	}{
		{deliveries.Attempt{StatusCode: 204, Duration: 12*time.Millisecond + 999*time.Microsecond}, `{` + started + `,"durationMs":12,"statusCode":204,"succeeded":true,"excerpt":""}`},
		{deliveries.Attempt{StatusCode: 302, Failure: "STATUS", Excerpt: "moved"}, `{` + started + `,"durationMs":0,"statusCode":302,"failure":"STATUS","succeeded":false,"excerpt":"moved"}`},
		{deliveries.Attempt{Failure: "TIMEOUT", Duration: 10 * time.Second}, `{` + started + `,"durationMs":10000,"failure":"TIMEOUT","succeeded":false,"excerpt":""}`},
	} {
		next.outcome = c.outcome
		next.outcome.StartedAt = at
		before := r.events()
		sameJSON(t, "answered", r.want(r.manage("POST", "/webhook-endpoints/"+id+"/test", ""), 200, ""), c.want)
		if r.events() != before {
			t.Error("a test is recorded")
		}
	}
	next.err = domain.Unavailable(errors.New("no log"))
	r.want(r.manage("POST", "/webhook-endpoints/"+id+"/test", ""), 503, "ServiceUnavailable")
	r.want(r.manage("POST", "/webhook-endpoints/none/test", ""), 404, "EntityNotFound")
	if !slices.Equal(asked, slices.Repeat([]domain.EndpointID{domain.EndpointID(id)}, 4)) {
		t.Errorf("asked to test %q", asked)
	}
}
