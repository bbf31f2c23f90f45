package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/payment"
	"payledger/domain/webhook"
	"payledger/eventstore/commands"
	"payledger/httpapi"
)

// heldBack is a body that is sent when the server reads it: the caller's guards have passed then.
// Before its first byte it calls meanwhile.
type heldBack struct {
	io.Reader
	once      sync.Once
	meanwhile func()
}

func (h *heldBack) Read(p []byte) (int, error) {
	h.once.Do(h.meanwhile)
	return h.Reader.Read(p)
}

// holdBack makes a request whose body waits for the server, and for meanwhile.
func holdBack(t testing.TB, method, address, body string, meanwhile func()) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, address, &heldBack{Reader: strings.NewReader(body), meanwhile: meanwhile})
	must(t, err)
	req.ContentLength = int64(len(body))
	req.Header.Set("Expect", "100-continue")
	return req
}

// waiting returns a transport that sends a body only when the server reads it.
func waiting(t testing.TB) *http.Transport {
	transport := &http.Transport{ExpectContinueTimeout: patience}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// withLate makes a call of the management whose body comes after meanwhile.
func (r *rig) withLate(key, method, path, body string, meanwhile func()) int {
	r.t.Helper()
	req := holdBack(r.t, method, r.url+"/management"+path, body, meanwhile)
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: waiting(r.t), Timeout: time.Minute}).Do(req)
	must(r.t, err)
	must(r.t, res.Body.Close())
	return res.StatusCode
}

// TestRevokedMeanwhile: a key that is revoked while the body of its request is on its way changes
// nothing any more, and a user's role counts as it is when the body is there (D20).
func TestRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range [][2]string{
		{"/api-keys", `{"name":"more","scopes":["keys:write"]}`},
		{"/users", `{"email":"more@example.com","role":"auditor"}`},
	} {
		id, key := r.newKey(`"account:write","` + strings.Join(account.RoleAuditor.Scopes(), `","`) + `"`)
		var events uint64
		status := r.withLate(key, "POST", c[0], c[1], func() {
			r.want(r.manage("DELETE", "/api-keys/"+id, ""), 200, "")
			events = r.events()
		})
		if made := r.events() - events; status != http.StatusUnauthorized || made != 0 {
			t.Errorf("%s with a revoked key: %d, and %d events", c[0], status, made)
		}
	}
}

// TestRoleMeanwhile: whether a key may reset a user's password is decided by the role that the user
// has when the body is there (D20).
func TestRoleMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := r.want(r.manage("POST", "/users", `{"email":"more@example.com","role":"auditor"}`), 200, "")
	scopes := `"users:write","` + strings.Join(account.RoleAuditor.Scopes(), `","`) + `"`
	_, key := r.newKey(scopes)
	user := "/users/" + made.text1("id")
	status := r.withLate(key, "PATCH", user, `{"resetPassword":true}`, func() {
		r.want(r.manage("PATCH", user, `{"role":"admin"}`), 200, "")
	})
	if status != http.StatusForbidden {
		t.Errorf("the password of an administrator was reset with a poor key: %d", status)
	}
}

// TestSessionMeanwhile: a dashboard session that is ended while its form is on its way changes
// nothing any more (D20).
func TestSessionMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	other := s.browserOf()
	other.signIn()
	s.open("/dashboard/sessions")
	ended := s.value("session")
	var events uint64
	body := url.Values{"email": {"more@example.com"}, "role": {"auditor"}}.Encode()
	req := holdBack(t, "POST", s.url+"/dashboard/users", body, func() {
		s.submit("/dashboard/sessions", "session", ended)
		events = s.events()
	})
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", s.url)
	other.browser.Transport = waiting(t)
	other.load(req)
	if made := s.events() - events; events == 0 || other.now.status != http.StatusUnauthorized || made != 0 {
		t.Errorf("a form of an ended session: %d, and %d events: %s", other.now.status, made, text(other.now.text))
	}
}

// lookUp is a Config.CheckURL that calls a function once, while a request waits for the addresses
// of a host's name.
type lookUp struct{ meanwhile atomic.Pointer[func()] }

func (l *lookUp) set(meanwhile func()) { l.meanwhile.Store(&meanwhile) }

func (l *lookUp) config(c *httpapi.Config) {
	c.CheckURL = func(context.Context, string) error {
		if meanwhile := l.meanwhile.Swap(nil); meanwhile != nil {
			(*meanwhile)()
		}
		return nil
	}
}

// requesting is a workflow with an action to a URL of a host's name.
const requesting = `{"name":"n","trigger":{"eventType":"PAYMENT.REFUND"},"condition":"true","actions":[{"type":"http_request","url":"https://shop.example/hook"}]}`

// TestRevokedDuringLookUp: a key that is revoked while the host of a URL is looked up makes no
// workflow and no endpoint any more, and changes none (D20).
func TestRevokedDuringLookUp(t *testing.T) {
	t.Parallel()
	r := newHookRig(t, webhooks{})
	var look lookUp
	r.serve(look.config)
	workflow := "/workflows/" + r.want(r.manage("POST", "/workflows", requesting), 200, "").text1("id")
	endpoint := "/webhook-endpoints/" + r.want(r.manage("POST", "/webhook-endpoints", `{"url":"https://shop.example/first"}`), 200, "").text1("id")
	for _, c := range [][3]string{
		{"POST", "/workflows", requesting},
		{"PUT", workflow, strings.Replace(requesting, `"n"`, `"m"`, 1)},
		{"POST", "/webhook-endpoints", `{"url":"https://shop.example/second"}`},
		{"PATCH", endpoint, `{"url":"https://shop.example/third"}`},
	} {
		id, key := r.newKey(`"account:write"`)
		var events uint64
		look.set(func() {
			r.want(r.manage("DELETE", "/api-keys/"+id, ""), 200, "")
			events = r.events()
		})
		r.want(r.with(key, c[0], c[1], c[2]), 401, "Unauthorized")
		if made := r.events() - events; events == 0 || made != 0 {
			t.Errorf("%s %s with a revoked key: %d events of %d", c[0], c[1], made, events)
		}
	}
}

// TestEndedDuringLookUp: a user who is removed, or gets a lower role, or whose session is ended,
// while the host of a URL is looked up makes no endpoint any more (D20).
func TestEndedDuringLookUp(t *testing.T) {
	t.Parallel()
	var look lookUp
	s := siteOf(t, newRig(t, look.config))
	for i, end := range []func(user string){
		func(user string) { s.want(s.manage("DELETE", user, ""), 200, "") },
		func(user string) { s.want(s.manage("PATCH", user, `{"role":"auditor"}`), 200, "") },
		func(user string) { s.want(s.manage("PATCH", user, `{"resetPassword":true}`), 200, "") },
		func(string) {
			s.signIn()
			s.submit("/dashboard/sessions", "session", string(s.accountNow().UserSessions[0].ID))
		},
	} {
		email := strconv.Itoa(i) + "@example.com"
		made := s.want(s.manage("POST", "/users", `{"email":"`+email+`","role":"admin"}`), 200, "")
		other := s.browserOf()
		other.signInAs(email, made.text1("password"))
		var events uint64
		look.set(func() {
			end("/users/" + made.text1("id"))
			events = s.events()
		})
		other.submit("/dashboard/endpoints/new", "url", "https://shop.example/hook", "which", "all")
		if made := s.events() - events; events == 0 || other.now.status != http.StatusUnauthorized || made != 0 {
			t.Errorf("%s: an endpoint after the end: %d, and %d events of %d: %s", email, other.now.status, made, events, text(other.now.text))
		}
	}
}

// TestReplayOfARevokedKey: a key that is revoked while the webhooks of a replay are counted starts
// none (D20).
func TestReplayOfARevokedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, _ := r.newKey(`"account:write"`)
	r.want(r.manage("DELETE", "/api-keys/"+id, ""), 200, "")
	events := r.events()
	by := commands.Caller{Account: r.account.AccountID, Actor: "api_key:" + id, RequestID: "request"}
	err := r.service.RecordReplay(t.Context(), by, webhook.ReplayRequested{})
	if made := r.events() - events; domain.ReasonOf(err) != domain.ReasonUnauthorized || made != 0 {
		t.Errorf("%v, and %d events", err, made)
	}
}

// TestLookUpsAtOnce: the hosts of a workflow's URLs are looked up at the same time.
func TestLookUpsAtOnce(t *testing.T) {
	t.Parallel()
	const urls = 10
	r := newHookRig(t, webhooks{})
	var underWay sync.WaitGroup
	underWay.Add(urls)
	all := make(chan struct{})
	r.serve(func(c *httpapi.Config) {
		c.CheckURL = func(ctx context.Context, _ string) error {
			underWay.Done()
			select {
			case <-all:
				return nil
			case <-time.After(patience):
				return errors.New("waits for another look-up")
			}
		}
	})
	go func() {
		underWay.Wait()
		close(all)
	}()
	one := `{"type":"http_request","url":"https://shop.example/hook"}`
	r.want(r.manage("POST", "/workflows", strings.Replace(requesting, one, strings.Repeat(one+",", urls-1)+one, 1)), 200, "")
}

// aside is the place of a request. It calls a function when the request begins to wait.
type aside struct{ waits func() }

func (a aside) Leave()               { a.waits() }
func (aside) Return(context.Context) {}

// TestRevokedBehindAnOperation: a key that is revoked while its request waits for another operation
// of the payment requests nothing of the processor any more (D20).
func TestRevokedBehindAnOperation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	operations := map[string]func(context.Context, commands.Caller, domain.PaymentID) error{
		"refund": func(ctx context.Context, by commands.Caller, id domain.PaymentID) error {
			_, err := r.service.Refund(ctx, by, id, payment.Refund{Amount: new(domain.Amount(100))})
			return err
		},
		"capture": func(ctx context.Context, by commands.Caller, id domain.PaymentID) error {
			_, err := r.service.Capture(ctx, by, id, payment.Capture{Amount: new(domain.Amount(100))})
			return err
		},
		"cancel": func(ctx context.Context, by commands.Caller, id domain.PaymentID) error {
			_, err := r.service.Cancel(ctx, by, id, payment.Cancel{})
			return err
		},
	}
	for name, operate := range operations {
		for _, unanswered := range []bool{false, true} {
			r.cut.Store(nil)
			at := r.paid(goodCard, "")
			r.want(r.post(at+"/capture", `{"amount":500,"final":false}`), 200, "")
			entered, release, captured := make(chan struct{}), make(chan struct{}), make(chan answer, 1)
			enter := sync.OnceFunc(func() { close(entered) })
			hold := func(*http.Request) bool { enter(); <-release; return unanswered }
			if r.cut.Store(&hold); unanswered {
				close(release)
				r.overdue(func(*http.Request) bool { enter(); return true })
			}
			go func() { captured <- r.post(at+"/capture", `{"amount":500,"final":false}`) }()
			<-entered
			if unanswered {
				r.want(<-captured, 200, "")
				none := func(*http.Request) bool { return true }
				r.cut.Store(&none)
			}
			id, _ := r.newKey(`"account:read"`)
			revoke := sync.OnceFunc(func() {
				r.want(r.manage("DELETE", "/api-keys/"+id, ""), 200, "")
				if !unanswered {
					close(release)
				}
			})
			by := commands.Caller{Account: r.account.AccountID, Actor: "api_key:" + id, RequestID: "request"}
			err := operate(commands.WithPlace(t.Context(), aside{revoke}), by, domain.PaymentID(strings.TrimPrefix(at, "/payments/")))
			if domain.ReasonOf(err) != domain.ReasonUnauthorized {
				t.Errorf("%s, the operation before it unanswered %t: %v", name, unanswered, err)
			}
			if !unanswered {
				r.want(<-captured, 200, "")
			}
			r.cut.Store(nil)
			if history := r.want(r.get(at+"/events"), 200, "").text; strings.Contains(history, id) {
				t.Errorf("%s of a revoked key: %s", name, history)
			}
		}
	}
}
