package management_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/eventstore/commands/accounts"
	"payledger/httpapi/request"
	"payledger/projections/deliveries"
)

var hook = account.Endpoint{ID: "hook", URL: "https://shop.example/a?b=1", Description: "my shop", EventTypes: []string{"PAYMENT.STATUS"}, Enabled: true, CreatedAt: noon}

const hookText = `{"id":"hook","url":"https://shop.example/a?b=1","description":"my shop","eventTypes":["PAYMENT.STATUS"],"enabled":true,"createdAt":` + noonText + `}`

// TestListEndpoints checks that the list has every field of each endpoint. An endpoint for all
// events has the empty list of types (D18).
func TestListEndpoints(t *testing.T) {
	r := newRig(t)
	r.merchant.Endpoints = []account.Endpoint{hook, {ID: "all", URL: "https://shop.example/", CreatedAt: noon}}
	const all = `{"id":"all","url":"https://shop.example/","description":"","eventTypes":[],"enabled":false,"createdAt":` + noonText + `}`
	r.answered(`{"data":[` + hookText + `,` + all + `]}`)(r.h.ListEndpoints(r.with()))
	cursor := r.page(`{"data":[` + hookText + `]`)(r.h.ListEndpoints(r.query("limit=1")))
	r.answered(`{"data":[` + all + `]}`)(r.h.ListEndpoints(r.query("cursor=" + cursor)))
	r.invalid("QueryString", "$.cursor", "is not a cursor of this list")(r.h.ListAPIKeys(r.query("cursor=" + cursor)))
}

// TestCreateEndpoint checks that the address is checked before the command gets the fields of the
// body.
func TestCreateEndpoint(t *testing.T) {
	r := newRig(t)
	r.endpoint = hook
	create := request.WithBody(r.h.CreateEndpoint)
	r.answered(hookText)(create(r.body(`{"url":"https://shop.example/","description":"shop","eventTypes":["DISPUTE.OPENED"]}`)))
	in := accounts.EndpointInput{URL: "https://shop.example/", Description: "shop", EventTypes: []string{"DISPUTE.OPENED"}}
	r.made(call("CheckURL", in.URL), call("CreateEndpoint", caller, in), call("CaughtUp"))
}

// TestChangeEndpoint checks that only the sent fields change, and that only a sent address is
// checked.
func TestChangeEndpoint(t *testing.T) {
	r := newRig(t)
	r.endpoint = hook
	change := request.WithBody(r.h.ChangeEndpoint)
	url, description, types, off := "https://shop.example/", "", []string{}, false
	r.answered(hookText)(change(r.body(`{"description":"","eventTypes":[],"enabled":false}`, "id", "hook")))
	r.changed("ChangeEndpoint", domain.EndpointID("hook"), account.ChangeEndpoint{Description: &description, EventTypes: &types, Enabled: &off})
	r.answered(hookText)(change(r.body(`{"url":"https://shop.example/"}`, "id", "hook")))
	r.made(call("CheckURL", url), call("ChangeEndpoint", caller, domain.EndpointID("hook"), account.ChangeEndpoint{URL: &url}), call("CaughtUp"))
	r.answered(hookText)(change(r.body(`{}`, "id", "hook")))
	r.changed("ChangeEndpoint", domain.EndpointID("hook"), account.ChangeEndpoint{})
}

// TestDeleteEndpoint checks that the endpoint of the path is deleted. The answer is the endpoint as
// it was.
func TestDeleteEndpoint(t *testing.T) {
	r := newRig(t)
	r.endpoint = hook
	r.answered(hookText)(r.h.DeleteEndpoint(r.with("id", "hook")))
	r.changed("DeleteEndpoint", domain.EndpointID("hook"))
}

// loopback is the error for an address of the service's own machine, or of another one.
type loopback bool

func (loopback) Error() string    { return "must not lead there" }
func (l loopback) Loopback() bool { return bool(l) }

// TestEndpointAddress checks that an address that webhooks must not go to is refused before the
// command. Only in the sandbox, and only for an address of the service's own machine, the error
// names the ways to a program there (D18).
func TestEndpointAddress(t *testing.T) {
	const ways = "; for a program on your own machine run `payledger listen`, or start a service on that machine with --webhook-allow-cidr 127.0.0.0/8"
	for _, c := range []struct {
		name    string
		sandbox bool
		err     error
		want    string
	}{
		{"private", true, errors.New("must not lead there"), "must not lead there"},
		{"another machine", true, loopback(false), "must not lead there"},
		{"own machine", true, loopback(true), "must not lead there" + ways},
		{"own machine, wrapped", true, errors.Join(loopback(true)), "must not lead there" + ways},
		{"own machine, in production", false, loopback(true), "must not lead there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.h.Sandbox, r.fails["CheckURL"] = c.sandbox, c.err
			for _, handle := range []func(*request.Call) (any, error){request.WithBody(r.h.CreateEndpoint), request.WithBody(r.h.ChangeEndpoint)} {
				r.invalid("Body", "$.url", c.want)(handle(r.body(`{"url":"https://127.9.9.9/"}`, "id", "hook")))
				r.made(call("CheckURL", "https://127.9.9.9/"))
			}
		})
	}
}

// TestTestEndpoint checks that the call answers with the outcome of the test message, whatever the
// receiver did (§6.1, D20).
func TestTestEndpoint(t *testing.T) {
	const started = `{"startedAt":` + noonText + `,`
	for want, outcome := range map[string]deliveries.Attempt{
		started + `"durationMs":12,"statusCode":204,"succeeded":true,"excerpt":""}`:                         {StatusCode: 204, Duration: 12*time.Millisecond + 999*time.Microsecond},
		started + `"durationMs":0,"statusCode":302,"failure":"STATUS","succeeded":false,"excerpt":"moved"}`: {StatusCode: 302, Failure: "STATUS", Excerpt: "moved"},
		started + `"durationMs":10000,"failure":"TIMEOUT","succeeded":false,"excerpt":""}`:                  {Failure: "TIMEOUT", Duration: 10 * time.Second},
	} {
		r := newRig(t)
		r.merchant.Endpoints = []account.Endpoint{hook}
		r.test = outcome
		r.test.StartedAt, r.test.Keys, r.test.Number = noon, []string{"name of a secret"}, 7
		r.answered(want)(r.h.TestEndpoint(r.with("id", "hook")))
		r.made(call("SendTest", domain.AccountID("shop"), domain.EndpointID("hook")))
	}
}

// TestTestNotSent checks that a message that was not sent is an error, and that nothing is sent for
// an endpoint that the account lacks.
func TestTestNotSent(t *testing.T) {
	r := newRig(t)
	r.merchant.Endpoints = []account.Endpoint{hook}
	r.fails["SendTest"] = domain.Unavailable(context.DeadlineExceeded)
	got, err := r.h.TestEndpoint(r.with("id", "hook"))
	if r.refused(domain.ReasonServiceUnavailable)(got, err); got != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("answered %v, %v", got, err)
	}
	r.made(call("SendTest", domain.AccountID("shop"), domain.EndpointID("hook")))
	r.refused(domain.ReasonEntityNotFound, "There is no webhook endpoint of this id.")(r.h.TestEndpoint(r.with("id", "none")))
	r.made()
}
