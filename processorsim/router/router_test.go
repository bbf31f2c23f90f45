package router_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"payledger/domain"
	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
	"payledger/processorsim/router"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a router that ends with the test.
func open(t *testing.T, connections map[processor.Name]router.Connection) *router.Router {
	t.Helper()
	r, err := router.Open(router.Config{Connections: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

func to(url, token, secret string) router.Connection {
	return router.Connection{Connection: adapter.Connection{URL: url, Token: token}, Secret: []byte(secret)}
}

const answer = `{"state":"SUCCEEDED","processorTransactionId":"t","at":"2026-03-01T12:00:00Z"}`

// TestEachToItsOwn: each call goes to the address of its processor with its token, also if two have
// one address. A processor without an address has an unknown outcome, and nobody is called.
func TestEachToItsOwn(t *testing.T) {
	var calls []string
	record := func(at string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			calls = append(calls, at+" "+strings.Split(r.URL.Path, "/")[3]+" "+r.Header.Get("Authorization"))
			switch {
			case r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "/fence"):
				_, _ = io.WriteString(w, answer)
			case r.URL.Query().Has("reference"):
				_, _ = io.WriteString(w, `{"operations":[],"notifications":[]}`)
			case strings.HasSuffix(r.URL.Path, "/disputes"):
				_, _ = io.WriteString(w, `{"notifications":[]}`)
			case r.URL.RawQuery == "" && strings.HasSuffix(r.URL.Path, "/operations"):
			default:
				_, _ = io.WriteString(w, `{"state":"UNSEEN"}`)
			}
		}
	}
	first, second := serve(t, record("first")), serve(t, record("second"))
	r := open(t, map[processor.Name]router.Connection{
		processor.Stripe: to(first, "ts", ""), processor.Adyen: to(first, "ta", ""), processor.Worldpay: to(second, "", ""),
	})
	if names := r.Names(); !slices.Equal(names, []processor.Name{processor.Adyen, processor.Stripe, processor.Worldpay}) {
		t.Errorf("%v", names)
	}
	for name, want := range map[processor.Name]string{
		processor.Adyen: "first ADYEN Bearer ta", processor.Stripe: "first STRIPE Bearer ts", processor.Worldpay: "second WORLDPAY ", processor.PayPal: "",
	} {
		calls = nil
		for call, err := range callAll(t, r, name) {
			if none := want == ""; none != errors.Is(err, processor.ErrUnknown) || !none && err != nil {
				t.Errorf("%s at %s: %v", call, name, err)
			}
			if want == "" && !strings.Contains(err.Error(), "PAYPAL has no address") {
				t.Errorf("%s: %v", call, err)
			}
		}
		if others := slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return call == want }); len(others) > 0 || want != "" && len(calls) != 8 {
			t.Errorf("%s: %q", name, calls)
		}
		if r.Connected(name) != (want != "") {
			t.Errorf("connected to %s: %v", name, r.Connected(name))
		}
	}
}

// callAll makes every call, and returns the errors.
func callAll(t *testing.T, r *router.Router, name processor.Name) map[string]error {
	t.Helper()
	ctx, errs := t.Context(), map[string]error{}
	_, errs["send"] = r.Send(ctx, processor.Operation{Kind: processor.Capture, Key: "01a.3", Processor: name, Reference: "01a", Amount: 1, Currency: "EUR"})
	_, errs["look-up"] = r.Lookup(ctx, name, "01a.3")
	_, errs["fence"] = r.Fence(ctx, name, "01a.3")
	_, errs["by reference"] = r.ByReference(ctx, name, "01a")
	_, errs["notifications"] = r.NotificationsSince(ctx, name, time.Time{}, "")
	errs["operations"] = r.Operations(ctx, name, time.Time{}, time.Time{}, func(processor.Record) error { return nil })
	_, errs["disputes of"] = r.DisputesOf(ctx, name, "01a")
	errs["disputes"] = r.DisputesReported(ctx, name, time.Time{}, time.Time{}, func(processor.Notification) error { return nil })
	return errs
}

// TestNotificationsOfEach: a notification is believed only with the secret of the processor of its
// path. One without an address has none. Operators see how many were not believed.
func TestNotificationsOfEach(t *testing.T) {
	r := open(t, map[processor.Name]router.Connection{processor.Adyen: to("http://a", "", "sa"), processor.Stripe: to("http://s", "", "ss")})
	for _, c := range []struct {
		name   processor.Name
		secret string
		valid  bool
	}{
		{processor.Adyen, "sa", true}, {processor.Stripe, "ss", true}, {processor.Adyen, "ss", false}, {processor.Stripe, "sa", false},
		{processor.PayPal, "sa", false}, {processor.PayPal, "", false},
	} {
		body := []byte(`{"id":"nt_1","processor":"` + string(c.name) + `","type":"capture","idempotencyKey":"01abc.3","reference":"01abc","answer":` + answer + `}`)
		_, err := r.ParseNotification(c.name, http.Header{protocol.HeaderSignature: {protocol.Sign([]byte(c.secret), body)}}, body)
		if c.valid != (err == nil) || err != nil && domain.ReasonOf(err) != domain.ReasonUnauthorized {
			t.Errorf("%s signed with %q: %v", c.name, c.secret, err)
		}
	}
	for name, n := range map[processor.Name]int{processor.Adyen: 1, processor.Stripe: 1, processor.PayPal: 0} {
		got := r.Connection(name)
		if counted := strings.Contains(got.Unsigned, fmt.Sprintf("without a valid signature in the last 10 minutes: %d, the newest at ", n)); counted != (n > 0) || got.Bad() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOpenFaults: an address that cannot be called is refused with the name, and is not shown.
func TestOpenFaults(t *testing.T) {
	_, err := router.Open(router.Config{Connections: map[processor.Name]router.Connection{processor.Stripe: to("ftp://me:hidden@s", "", "")}})
	if err == nil || !strings.HasPrefix(err.Error(), "STRIPE: ") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%v", err)
	}
}
