//go:build system

package clusters

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
)

// nodeBrowser is a user's browser with the dashboard of one node. It follows no redirect.
type nodeBrowser struct {
	api    string
	cookie *http.Cookie // of the session
}

const sessionCookie = "__Host-payledger"

// send loads a page, or sends a form as the page of this node does.
func (b *nodeBrowser) send(t *testing.T, path string, form url.Values) (status int, page string) {
	t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, b.api+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", b.api)
	if b.cookie != nil {
		req.AddCookie(&http.Cookie{Name: b.cookie.Name, Value: b.cookie.Value})
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range answer.Cookies() {
		if c.Name != sessionCookie {
			continue
		}
		if b.cookie = c; c.MaxAge < 0 {
			b.cookie = nil
		}
	}
	return answer.StatusCode, string(text)
}

// must fails the test unless a request has the status.
func (b *nodeBrowser) must(t *testing.T, what, path string, form url.Values, want int) {
	t.Helper()
	if status, page := b.send(t, path, form); status != want {
		t.Errorf("%s: %s answers %d, expected %d: %s", what, path, status, want, page)
	}
}

// signsIn begins a session, or is refused.
func (b *nodeBrowser) signsIn(t *testing.T, what, email, password string, want int) {
	t.Helper()
	b.cookie = nil
	b.must(t, what, "/dashboard/login", url.Values{"email": {email}, "password": {password}, "next": {staffPage}}, want)
	if (b.cookie != nil) != (want == http.StatusSeeOther) {
		t.Errorf("%s: the cookie is %v", what, b.cookie)
	}
}

// copied returns a browser with the same session at another node.
func (b *nodeBrowser) copied(at string) *nodeBrowser { return &nodeBrowser{api: at, cookie: b.cookie} }

// shownRevision finds the revision of the payment that a form shows.
var shownRevision = regexp.MustCompile(`name="revision" value="(\d+)"`)

const staffPage = "/dashboard/payments"

// testNodesUsers checks that a dashboard user's role and sessions are the same at both nodes (§6.1,
// D20): a session of one node is valid at the other one, and a change of the role, a sign-out and
// the user's removal end it at both.
func testNodesUsers(t *testing.T, r *nodeRig) {
	for i, m := range []*apptest.Merchant{r.atA, r.atB} { // the node of the changes
		other := []*apptest.Merchant{r.atB, r.atA}[i]
		id := apptest.Buys(t, other, fmt.Sprintf("staff-%d", i)).ID
		capture := func(key string) (path string, form url.Values) {
			return "/dashboard/payments/" + id + "/capture", url.Values{"key": {key + id}, "amount": {"1.00"}}
		}
		email := fmt.Sprintf("ada-%d@shop.example", i)
		var ada struct{ ID, Password string }
		m.Must(t, "POST", "/management/users", m.Headers(), map[string]any{"email": email, "role": "operator"}).Decode(t, &ada)
		here, there := &nodeBrowser{api: m.API}, &nodeBrowser{api: other.API}
		here.signsIn(t, "here", email, ada.Password, http.StatusSeeOther)
		there.signsIn(t, "there", email, ada.Password, http.StatusSeeOther)
		path, form := capture("by-an-operator")
		_, page := there.send(t, path, nil)
		if opened := shownRevision.FindStringSubmatch(page); opened != nil {
			form.Set("revision", opened[1])
		}
		there.must(t, "an operator captures", path, form, http.StatusSeeOther)
		copied := here.copied(other.API)
		copied.must(t, "the session at the other node", staffPage, nil, http.StatusOK)

		m.Must(t, "PATCH", "/management/users/"+ada.ID, m.Headers(), map[string]any{"role": "auditor"})
		path, form = capture("after-the-change")
		for what, b := range map[string]*nodeBrowser{"here": here, "there": there, "copied": copied} {
			b.must(t, "after the change of the role, "+what, staffPage, nil, http.StatusUnauthorized)
			b.must(t, "after the change of the role, "+what, path, form, http.StatusUnauthorized)
		}
		for what, b := range map[string]*nodeBrowser{"here": here, "there": there} {
			b.signsIn(t, what, email, ada.Password, http.StatusSeeOther)
			b.must(t, "an auditor reads, "+what, staffPage, nil, http.StatusOK)
			b.must(t, "an auditor captures, "+what, path, form, http.StatusForbidden)
		}
		var p struct{ Processor struct{ AmountCaptured int } }
		shown := other.Must(t, "GET", "/payments/"+id, other.Headers(), nil)
		if shown.Decode(t, &p); p.Processor.AmountCaptured != 100 {
			t.Errorf("%d was captured, expected what the operator captured: %s", p.Processor.AmountCaptured, shown.Body)
		}

		copied = there.copied(m.API)
		there.must(t, "a sign-out", "/dashboard/logout", url.Values{}, http.StatusSeeOther)
		copied.must(t, "after the sign-out at the other node", staffPage, nil, http.StatusUnauthorized)
		here.must(t, "the other session", staffPage, nil, http.StatusOK)
		there.signsIn(t, "there, again", email, ada.Password, http.StatusSeeOther)

		m.Must(t, "DELETE", "/management/users/"+ada.ID, m.Headers(), nil)
		for what, b := range map[string]*nodeBrowser{"here": here, "there": there} {
			b.must(t, "after the removal, "+what, staffPage, nil, http.StatusUnauthorized)
			b.signsIn(t, "after the removal, "+what, email, ada.Password, http.StatusUnauthorized)
		}
	}
}
