//go:build system && !race

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/seedtest"
)

// documentationPages are a page of each kind. Those of a kind that has more of them take turns.
var documentationPages = [][][2]string{
	{{"call", "/docs/calls/createPayment"}, {"call-list", "/docs/calls/listPayments"}, {"call-session", "/docs/calls/createClientSession"}},
	{{"guide", "/docs/guides/first-payment"}, {"production", "/docs/guides/going-to-production"}},
	{{"first", "/"}}, {{"home", "/docs"}}, {{"errors", "/docs/errors"}}, {{"webhooks", "/docs/webhooks"}}, {{"events", "/docs/events"}}, {{"missing", "/docs/nothing"}},
}

// TestDocsInBrowser: the pages have no fault that axe-core finds, in light and dark, on a telephone
// and on a desk, and the browser has nothing to complain of.
func TestDocsInBrowser(t *testing.T) {
	t.Parallel()
	b, found := startBrowser(t)
	if !found {
		return
	}
	source, there := axe(t)
	if !there {
		return
	}
	r := apptest.NewReader(t)
	for _, l := range looks() {
		look := fmt.Sprintf("%d-%s", l.width, map[bool]string{true: "dark", false: "light"}[l.dark])
		t.Run(look, func(t *testing.T) {
			t.Parallel() // axe-core works for the whole time
			w := b.look(t, l, "404")
			w.withAxe(source)
			for _, kind := range documentationPages {
				for i, page := range kind {
					if !seedtest.Turn(i, len(kind)) {
						continue
					}
					name, path := page[0], page[1]
					w.load(r.API + path)
					w.until(`document.getElementById("find")?.hidden !== true`)
					w.accessible(path + " " + look)
					if over := eval[int](w, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
						t.Errorf("%s at %s is %d pixels wider than the window", path, look, over)
					}
					w.picture("docs-" + name + "-" + look)
				}
			}
		})
	}
}

// TestDocsScript: the filter finds calls, the keyboard reaches it, and examples are copied with the
// reader's sandbox key, in the language that the browser remembers. The key stays in the tab, and a
// live key is refused.
func TestDocsScript(t *testing.T) {
	t.Parallel()
	b, found := startBrowser(t)
	if !found {
		return
	}
	r := apptest.NewReader(t)
	w := b.tab(t, 1280)
	w.load(r.API + "/docs/calls/capturePayment")
	w.until(`document.getElementById("find").hidden === false`)

	w.keys("/")
	w.keys("refund payment")
	w.untilText("#found", "entr")
	listed := eval[string](w, `[...document.querySelectorAll("#contents li")].filter((li) => li.checkVisibility()).map((li) => li.innerText.trim()).join("; ")`)
	if !strings.Contains(listed, "Refund a payment") || strings.Contains(listed, "Create a payment") {
		t.Errorf("the filter finds %s", listed)
	}
	w.keys(kb.Escape)
	w.until(`document.querySelector("#found").innerText === ""`)

	eval[bool](w, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }) !== null`)
	w.click("[data-copy]")
	w.untilText("[data-copy]", "Copied")
	if text := eval[string](w, `window.copied`); !strings.Contains(text, "$PAYLEDGER_API_KEY") || !strings.HasPrefix(text, "curl ") {
		t.Errorf("without a key the copied text is %q", text)
	}
	w.click(`[name="language"][value="python"]`)
	w.until(`document.querySelector('[data-language="python"]').checkVisibility() && !document.querySelector('[data-language="curl"]').checkVisibility()`)
	w.load(r.API + "/docs/calls/refundPayment") // remembered
	w.until(`document.querySelector('[data-language="python"]').checkVisibility()`)
	w.click(`[name="language"][value="curl"]`)
	w.until(`document.querySelector('[data-language="curl"]').checkVisibility()`)
	w.load(r.API + "/docs/calls/capturePayment")
	w.until(`document.getElementById("find").hidden === false`)
	eval[bool](w, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }) !== null`)
	live := strings.Replace(r.Key, "plk_sandbox_", "plk_live_", 1)
	w.focus("#key")
	w.keys(live)
	w.untilText("#key-error", "This is a live key")
	if kept := eval[string](w, `JSON.stringify(sessionStorage) + JSON.stringify(localStorage)`); strings.Contains(kept, "plk_live") {
		t.Errorf("a live key was kept: %s", kept)
	}
	w.focus("#filter")
	w.until(`document.querySelector("#key").value === ""`)
	w.focus("#key")
	w.keys(r.Key)
	w.until(`document.querySelector("#key-error").innerText === ""`)
	w.click("[data-copy]")
	w.untilText("#announcer", "with your key")
	copied := eval[string](w, `window.copied`)
	if !strings.Contains(copied, r.Key) || strings.Contains(copied, "$PAYLEDGER_API_KEY") {
		t.Errorf("the copied text is %q", copied)
	}
	w.click(`[name="language"][value="go"]`)
	w.click(`[data-language="go"] [data-copy]`)
	w.until(`window.copied.includes("package main")`)
	if program := eval[string](w, `window.copied`); !strings.Contains(program, `"X-API-KEY", "`+r.Key+`")`) {
		t.Errorf("the copied program is %s", program)
	}
	if status, body := r.Run(copied, apptest.Own{apptest.ExamplePayment: r.Paid(apptest.PlainCard, nil)}); status != "200" {
		t.Errorf("the copied command is answered %s %s", status, body)
	}
	w.load(r.API + "/docs/guides/first-payment")
	w.until(`document.querySelector("#key").value.startsWith("plk_sandbox_")`)
	for _, sent := range w.sent("", "/") {
		if strings.Contains(sent.URL+postData(sent)+fmt.Sprint(sent.Headers), r.Key) {
			t.Errorf("the key was sent to %s", sent.URL)
		}
	}
	w.click("#key-forget")
	w.until(`sessionStorage.length === 0`)
}
