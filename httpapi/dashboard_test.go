package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"payledger/domain/account"
	"payledger/eventstore/commands/users"
	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
	"payledger/httpapi/dashboard/frame"
	"payledger/httpapi/intake"
)

// site is the dashboard of a rig, as one browser sees it.
type site struct {
	*rig
	browser *http.Client
	now     shownPage
}

// shownPage is the answer to the newest request.
type shownPage struct {
	status int
	at     string // path and query after redirects
	header http.Header
	text   string
}

// newSite starts a rig with a dashboard, and a browser without a signed-in user.
func newSite(t *testing.T) *site {
	t.Helper()
	return siteOf(t, newRig(t))
}

// siteOf is newSite with a rig.
func siteOf(t testing.TB, r *rig) *site {
	t.Helper()
	staff, err := users.New(users.Config{
		Accounts: r.service.Accounts, Root: tokenKey, Directory: r.views.Accounts, Newest: r.views.AccountNow,
	})
	must(t, err)
	r.serve(func(c *httpapi.Config) { c.Users = staff })
	return r.browserOf()
}

// browserOf returns another browser. It keeps the cookie over plain HTTP, as browsers do for this
// machine.
func (r *rig) browserOf() *site {
	jar, err := cookiejar.New(nil)
	must(r.t, err)
	transport := &http.Transport{}
	r.t.Cleanup(transport.CloseIdleConnections)
	return &site{rig: r, browser: &http.Client{Jar: insecureJar{jar}, Transport: transport}}
}

// insecureJar keeps cookies for HTTPS although this server speaks HTTP. Browsers do the same for
// servers on the local machine.
type insecureJar struct{ http.CookieJar }

func (j insecureJar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	for _, c := range cookies {
		c.Secure = false
	}
	j.CookieJar.SetCookies(u, cookies)
}

// open loads a page.
func (s *site) open(path string) shownPage {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	must(s.t, err)
	return s.load(req)
}

// submit sends a form as a browser sends a form of the site's own page.
func (s *site) submit(path string, fields ...string) shownPage {
	s.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return s.submitFrom(s.url, path, form)
}

func (s *site) submitFrom(origin, path string, form url.Values) shownPage {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(form.Encode()))
	must(s.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", origin)
	return s.load(req)
}

func (s *site) load(req *http.Request) shownPage {
	s.t.Helper()
	res, err := s.browser.Do(req)
	must(s.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(s.t, err)
	s.now = shownPage{res.StatusCode, res.Request.URL.RequestURI(), res.Header, string(body)}
	return s.now
}

// signIn signs in with the first user.
func (s *site) signIn() {
	s.t.Helper()
	s.signInAs(s.account.DashboardUser, s.account.DashboardPassword)
}

func (s *site) signInAs(name, password string) {
	s.t.Helper()
	if p := s.submit("/dashboard/login", "email", name, "password", password, "next", "/dashboard/payments"); p.at != "/dashboard/payments" {
		s.t.Fatalf("signed in, and came to %s: %d %s", p.at, p.status, text(p.text))
	}
}

// as returns a browser of a new user with a role.
func (s *site) as(role account.Role) *site {
	s.t.Helper()
	email := string(role) + "@example.com"
	made := s.want(s.manage("POST", "/users", `{"email":"`+email+`","role":"`+string(role)+`"}`), 200, "")
	other := s.browserOf()
	other.signInAs(email, made.text1("password"))
	return other
}

var tags = regexp.MustCompile(`(?s)<style.*?</style>|<[^>]*>`)

// text returns the text of a page.
func text(page string) string {
	return html.UnescapeString(strings.Join(strings.Fields(tags.ReplaceAllString(page, " ")), " "))
}

// shows fails the test if the page does not have the status and the texts.
func (s *site) shows(status int, texts ...string) {
	s.t.Helper()
	if s.now.status != status {
		s.t.Fatalf("%s: status %d, not %d: %s", s.now.at, s.now.status, status, text(s.now.text))
	}
	for _, want := range texts {
		if !strings.Contains(text(s.now.text), want) {
			s.t.Errorf("%s does not show %q: %s", s.now.at, want, text(s.now.text))
		}
	}
}

// value returns the value of a form's field on the page.
func (s *site) value(field string) string {
	s.t.Helper()
	found := regexp.MustCompile(`name="` + field + `"[^>]*? value="([^"]*)"`).FindStringSubmatch(s.now.text)
	if found == nil {
		s.t.Fatalf("%s has no field %s: %s", s.now.at, field, s.now.text)
	}
	return found[1]
}

// TestSignIn: a page needs a session. The sign-in leads to the page that was wanted, and to no
// other site.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("/dashboard/payments?status=PENDING")
	s.shows(401, "Sign in to see this page.")
	if got := s.value("next"); got != "/dashboard/payments?status=PENDING" {
		t.Errorf("leads to %s", got)
	}
	s.submit("/dashboard/login", "email", "admin", "password", "wrong")
	s.shows(401, "The name or the password is wrong.")
	s.submit("/dashboard/login", "email", "nobody", "password", "wrong")
	s.shows(401, "The name or the password is wrong.")
	for _, away := range []string{"https://evil.example/dashboard", "//evil.example", "/dashboard/../payments", `/dashboard\evil`, "/dashboards"} {
		b := s.browserOf()
		b.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		p := b.submit("/dashboard/login", "email", s.account.DashboardUser, "password", s.account.DashboardPassword, "next", away)
		if to := p.header.Get("Location"); p.status != 303 || !strings.HasPrefix(to, "/dashboard") || strings.ContainsAny(to, `\`) || to == "/dashboards" {
			t.Errorf("next %s leads to %q with %d", away, to, p.status)
		}
		device := strings.Join(p.header.Values("Set-Cookie"), "\n")
		for _, part := range []string{"__Host-payledger-device=", "; Max-Age=7776000; HttpOnly; Secure; SameSite=Lax"} {
			if !strings.Contains(device, part) {
				t.Errorf("the cookies lack %q: %s", part, device)
			}
		}
		cookie := p.header.Get("Set-Cookie")
		for _, part := range []string{"__Host-payledger=", "; Path=/", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
			if !strings.Contains(cookie, part) {
				t.Errorf("the cookie lacks %q: %s", part, cookie)
			}
		}
	}
	s.signIn()
	s.shows(200, "There is no payment yet", "Sandbox", "All times are in UTC")
	s.submit("/dashboard/logout")
	s.shows(200, "You are signed out.")
	s.open("/dashboard/payments")
	s.shows(401, "Sign in")
}

// TestStrangersOfOneNetwork: who knows the account's id from a client token and guesses passwords
// of its admin stops the tries of this network, with 429 and the time to wait. A browser on which
// the admin has signed in before goes on, also in the same network (D22.13).
func TestStrangersOfOneNetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	s.submit("/dashboard/logout")
	stranger := s.browserOf()
	in := []string{"email", "admin", "account", string(s.account.AccountID), "password"}
	for range account.MaxFailures - 1 {
		stranger.submit("/dashboard/login", append(in, "wrong")...)
		stranger.shows(401, "The name or the password is wrong.")
	}
	for _, password := range []string{"wrong", s.account.DashboardPassword} {
		p := stranger.submit("/dashboard/login", append(in, password)...)
		stranger.shows(429, "Too many wrong passwords or codes from your network or device. Try again in 15 minutes.")
		if wait := p.header.Get("Retry-After"); wait != "900" {
			t.Errorf("Retry-After is %q", wait)
		}
	}
	s.signIn()
	s.submit("/dashboard/logout")
	if p := s.submit("/dashboard/login", append(in, s.account.DashboardPassword, "next", "/dashboard/payments")...); p.at != "/dashboard/payments" {
		t.Errorf("the known device, with the account: %d at %s", p.status, p.at)
	}
}

// TestDashboardHeaders: every page has the policy without inline code, is not stored and cannot be
// framed.
func TestDashboardHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	pages := []shownPage{s.open("/dashboard/login"), s.open("/dashboard/payments")}
	s.signIn()
	for _, path := range []string{"/dashboard/payments", "/dashboard/nothing", "/dashboard/payments/nothing", "/dashboard/payments.csv", "/dashboard/me"} {
		pages = append(pages, s.open(path))
	}
	for _, p := range pages {
		policy := p.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %s", p.at, policy)
		}
		if p.header.Get("Cache-Control") != "no-store" || p.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", p.at, p.header)
		}
		if inline := regexp.MustCompile(`(?i) (on[a-z]+|style)=|<script>|<style|javascript:`).FindString(p.text); inline != "" {
			t.Errorf("%s has %q", p.at, inline)
		}
	}
}

// TestOtherSites: a form of another site changes nothing.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	id := strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	before := s.events()
	form := url.Values{"amount": {"1.00"}, "key": {"k"}}
	s.submitFrom("https://evil.example", "/dashboard/payments/"+id+"/capture", form)
	s.shows(403, "This came from another site")
	if after := s.events(); after != before {
		t.Errorf("%d events were recorded", after-before)
	}
	s.open("/dashboard/payments/" + id + "/capture?amount=1.00&key=k")
	s.shows(200, "Capture a payment")
	if after := s.events(); after != before {
		t.Errorf("a GET recorded %d events", after-before)
	}
}

// TestOperations checks that capture, refund and cancel from the dashboard happen once, also after
// repeated clicks, and record the user.
func TestOperations(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	id := strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	at := "/dashboard/payments/" + id
	s.open(at + "/capture")
	key, revision := s.value("key"), s.value("revision")
	if amount := s.value("amount"); amount != "24.20" {
		t.Errorf("proposes %s", amount)
	}
	s.submit(at+"/capture", "key", key, "revision", revision, "amount", "1,5")
	s.shows(422, "Nothing was done.", "Write the amount in EUR, as in 12.05.")
	s.submit(at+"/capture", "key", key, "revision", revision, "amount", "99.00", "final", "yes")
	s.shows(422, "Nothing was done.")
	if s.value("amount") != "99.00" {
		t.Error("the input is lost")
	}
	if n := len(s.books(id)); n != 1 {
		t.Errorf("%d operations at the processor", n)
	}
	key, revision = s.value("key"), s.value("revision")
	s.submit(at+"/capture", "key", key, "revision", revision, "amount", "4.20")
	s.shows(200, "The capture was requested.", "Partially settled", "by admin")
	s.submit(at+"/capture", "key", key, "revision", revision, "amount", "4.20")
	s.shows(200, "Nothing was done a second time.")
	s.open(at + "/refund")
	s.submit(at+"/refund", "key", s.value("key"), "revision", s.value("revision"), "amount", "1", "reason", hostileText)
	s.shows(200, "€1.00 was refunded.")
	if strings.Contains(s.now.text, hostileText) {
		t.Error("a reason is not escaped")
	}
	if n := len(s.books(id)); n != 3 {
		t.Errorf("%d operations at the processor", n)
	}
	s.open(at + "?at=1")
	s.shows(200, "You look at an earlier state.", "The authorization was being sent")
	s.open(at + "?at=99")
	s.shows(404, "The payment has the revisions 1 to")
	s.open(at + "/proof")
	if s.now.status != 200 && s.now.status != 503 || !strings.HasPrefix(s.now.header.Get("Content-Type"), "application/json") && s.now.status == 200 {
		t.Errorf("the proof: %d %v", s.now.status, s.now.header)
	}
}

// hostileText is a text that a merchant or a customer could send.
const hostileText = `"><script>alert(1)</script><img src=x onerror=alert(2)>`

// TestTimelineOfWaits: the timeline names an open wait in the present tense and a past wait in the
// past tense.
func TestTimelineOfWaits(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	made := s.want(s.pay(payWith(s.tokenize(s.session(someSession), challengedCard))), 200, "")
	id := made.text1("id")
	at := "/dashboard/payments/" + id
	s.open(at)
	s.shows(200, "The authorization waits for the customer, since", "; expires ", "The authorization waited for the answer of the processor, from")
	s.lacks("would have expired")
	done := s.want(s.complete(made.text1("requiredAction", "clientToken"), "AUTHENTICATED"), 200, "")
	s.want(s.post("/payments/"+id+"/resume", resumeWith(done.text1("resumeToken"))), 200, "")
	s.open(at)
	s.shows(200, "The authorization waited for the customer, from", "; would have expired ", "The authorization waited for the answer of the processor, from")
	s.lacks(" waits for ", "; expires ")
}

// TestWithoutScript: a page promises nothing that needs the script.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	s.shows(200, "Reload the page for newer data.")
	s.lacks("Refreshes every")
	for _, part := range []string{`<span class="keys-hint" data-script hidden>Press <kbd>/</kbd> to search, <kbd>?</kbd> for all keys.</span>`, `data-live-toggle hidden`} {
		if !strings.Contains(s.now.text, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
}

// TestExpiredSessionKeepsInput: a form that is sent after the end of the session does nothing, and
// after the sign-in its input is there again, but for secrets.
func TestExpiredSessionKeepsInput(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.signIn()
	id := strings.TrimPrefix(s.paid(goodCard, ""), "/payments/")
	s.late.Store(13 * 3600)
	before := s.events()
	s.submit("/dashboard/payments/"+id+"/capture", "key", "the-key", "amount", "3.21", "password", "secret-password", "currencyCode", "EUR")
	s.shows(401, "Nothing was done.")
	if strings.Contains(s.now.text, "secret-password") {
		t.Error("a secret stands in the page")
	}
	s.submit("/dashboard/login", "email", s.account.DashboardUser, "password", s.account.DashboardPassword, "next", s.value("next"), "input", s.value("input"))
	s.shows(200, "You are signed in again")
	if s.value("amount") != "3.21" || s.value("currencyCode") != "EUR" || strings.Contains(s.now.text, "secret-password") {
		t.Errorf("the input: %s", s.now.text)
	}
	s.submit("/dashboard/payments/"+id+"/capture", "key", "the-key", "amount", "3.21", frame.ReviewField, "1")
	s.shows(200, "Capture a payment")
	if s.value("amount") != "3.21" || s.value("key") != "the-key" {
		t.Error("the form lost its input")
	}
	if n := s.events() - before; n > 2 { // the sign-in, and the end of the card
		t.Errorf("%d events were recorded", n)
	}
}

// TestOwnPasswordStaysOutOfPages: the form that changes the password is not kept over a sign-in.
func TestOwnPasswordStaysOutOfPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	s.late.Store(13 * 3600)
	s.submit("/dashboard/me/password", "old", "first-secret-text", "new", "second-secret-text", "again", "second-secret-text")
	s.shows(401, "Nothing was done.")
	if strings.Contains(s.now.text, `name="input"`) {
		t.Errorf("the form is kept: %s", s.now.text)
	}
	s.signIn()
	s.submit("/dashboard/me/password", "old", "wrong", "new", "second-secret-text", "again", "second-secret-text")
	s.shows(422, "Nothing was done.", "Your present password is wrong.")
	if strings.Contains(s.now.text, "second-secret-text") {
		t.Error("the new password stands in the page")
	}
}

// TestChangesHaveTheirOrigin: a change in the dashboard is in the audit log with the user's name
// and address, as is one by API key.
func TestChangesHaveTheirOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	s.submit("/dashboard/api-keys", "name", "Till 2", "scopes", "transactions:retrieve")
	s.shows(200, "The key “Till 2” is made", "plk_sandbox_", "no use recorded")
	if !strings.Contains(s.now.text, `value="transactions:retrieve" checked`) {
		t.Error("the form for the next key has no scope ticked")
	}
	var log struct {
		Data []struct {
			ActorName, Action, From string
		}
	}
	a := s.want(s.manage("GET", "/audit-log?type=account.api_key_created", ""), 200, "")
	must(t, json.Unmarshal([]byte(a.text), &log))
	if len(log.Data) != 1 || log.Data[0].ActorName != "admin" || log.Data[0].From != "127.0.0.1" {
		t.Errorf("the audit log has %s", a.text)
	}
	for who, found := range map[string]bool{"ADMIN": true, "user:" + string(s.accountNow().Users[0].ID): true, "nobody@shop.example": false, "user:nobody": false} {
		s.open("/dashboard/audit-log?type=account.api_key_created&actor=" + url.QueryEscape(who))
		s.shows(200)
		if strings.Contains(s.now.text, "No change fits") == found {
			t.Errorf("%s: %s", who, text(s.now.text))
		}
	}
	s.open("/dashboard/audit-log?actor=" + strings.Repeat("x", 255))
	s.shows(422, "Must be at most 254 characters long.")
	s.open("/dashboard/audit-log")
	s.shows(200, "API key made", "127.0.0.1", "Webhook endpoint made")
	if strings.Contains(s.now.text, "plk_sandbox_") {
		t.Error("the audit log shows a key")
	}
}

// TestFormsHoldNoPlace: a form that is sent slowly takes no place from other requests.
func TestFormsHoldNoPlace(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	s := newSite(t)
	s.serve(func(c *httpapi.Config) { c.Intake = httpapi.Intake{Gate: intake.NewGate(1, 0), Tally: &intake.Tally{}} })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /dashboard/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 40000\r\nExpect: 100-continue\r\n\r\n")
	must(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n') // the service has begun to read the form
	if must(t, err); !strings.Contains(line, "100 Continue") {
		t.Fatalf("answered %s", line)
	}
	for range 5 {
		s.want(s.get("/payments"), 200, "")
	}
}

// TestOtherMethods: a request of another method gets a page with the headers of a page, and the
// methods that the address takes. A slash at the end of an address makes no difference (D1).
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	for _, c := range []struct{ method, path, allow string }{
		{http.MethodPut, "/dashboard/payments", "GET, HEAD"}, {http.MethodOptions, "/dashboard/payments", "GET, HEAD"},
		{http.MethodDelete, "/dashboard/users", "GET, HEAD, POST"}, {http.MethodPost, "/dashboard/nothing", "GET, HEAD"},
	} {
		req, err := http.NewRequest(c.method, s.url+c.path, nil)
		must(t, err)
		req.Header.Set("Origin", s.url)
		res, err := s.browser.Do(req)
		must(t, err)
		must(t, res.Body.Close())
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != c.allow || res.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s %s: %s, Allow: %q, %v", c.method, c.path, res.Status, res.Header.Get("Allow"), res.Header)
		}
	}
	s.open("/dashboard/payments/?status=SETTLED")
	s.shows(200, "Payments")
	if at := s.now.at; !strings.Contains(at, "/dashboard/payments?status=SETTLED") {
		t.Errorf("the page is at %s", at)
	}
}
