package httpapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/domain/account"
)

// TestActionPage: a customer is sent to the processor's own page of an action, also in production,
// there over TLS only. The page is as good as a token: no event, log or answer has it.
func TestActionPage(t *testing.T) {
	t.Parallel()
	r := newRigIn(t, account.Production, usualTimeout, nil)
	page := "https://bank.example/check?secret=s3cret-of-the-page"
	r.actionPage.Store(&page)
	client := r.session(someSession)
	made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, challengedCard))), 200, "")
	if sent := *r.sentToProcessor.Load(); !strings.Contains(sent, `"returnUrl":"`+returnURL+`"`) {
		t.Error("the processor does not know where the customer returns to")
	}
	challenge := "/checkout/challenge?clientToken=" + made.text1("requiredAction", "clientToken")
	status, _, text := r.page(challenge)
	if status != 200 || !strings.Contains(text, `data-address="`+page+`"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := r.page("/checkout/challenge/return"); status != 200 || !strings.Contains(text, "return.js") {
		t.Errorf("the way back: %d %s", status, text)
	}
	for _, bad := range []string{"http://bank.example/check", "javascript:alert(1)", "https://user@bank.example/", "//bank.example"} {
		r.actionPage.Store(&bad)
		if status, _, text := r.page(challenge); status != 404 {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
	r.actionPage.Store(&page)
	r.silent.Store(true)
	if status, _, text := r.page(challenge); status != 503 {
		t.Errorf("without an answer of the processor: %d %s", status, text)
	}
	r.silent.Store(false)
	whole := r.get("/payments/" + made.text1("id") + "?expand=transactions.events").text
	if strings.Contains(whole+r.log.String(), "s3cret") {
		t.Error("the page is in an answer or in the log")
	}
	must(t, filepath.Walk(r.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return nil //nolint:nilerr // a file of the server that is gone
		}
		if file, err := os.ReadFile(path); err == nil && strings.Contains(string(file), "s3cret") {
			t.Errorf("%s has the page", path)
		}
		return nil
	}))
}

// TestActionPageInSandbox: a page of the processor's own comes before the sandbox's.
func TestActionPageInSandbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	plain := "http://127.0.0.1:1/check"
	r.actionPage.Store(&plain)
	client := r.session(someSession)
	made := r.want(r.inBrowser(client, "POST", "/checkout/payments", payWith(r.tokenize(client, challengedCard))), 200, "")
	if status, _, text := r.page("/checkout/challenge?clientToken=" + made.text1("requiredAction", "clientToken")); status != 200 || !strings.Contains(text, `data-address="`+plain+`"`) {
		t.Errorf("%d %s", status, text)
	}
}
