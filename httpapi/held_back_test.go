package httpapi_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"payledger/domain/account"
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
