//go:build system && !race

package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"payledger/domain/seedtest"
)

// chromium finds the browser; "" where it is missing, which is said, and fails in CI: .ci/run
// installs it. The shell without windows shows the same pages, and needs less of the processors.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no Chromium; .ci/run installs it")
	}
	t.Log("NOT RUN: no Chromium is installed, so no page was tried (apt-get install chromium-headless-shell)")
	return ""
}

// browser is a real Chromium. The pages leave their pictures in the folder that
// PAYLEDGER_SCREENSHOTS names.
type browser struct {
	ctx      context.Context
	pictures string
}

// started is the Chromium of all tests: each tab has a context of its own, without the cookies and
// the storage of the others. TestMain ends it.
var started struct {
	sync.Mutex
	browser
}

// startBrowser returns the running Chromium, or starts it; false where there is none.
func startBrowser(t *testing.T) (browser, bool) {
	t.Helper()
	path := chromium(t)
	if path == "" {
		return browser{}, false
	}
	started.Lock()
	defer started.Unlock()
	var err error
	for range browserStarts {
		if started.ctx != nil && chromedp.Do(started.ctx) == nil {
			return started.browser, true
		}
		if started.browser, err = launch(path); err == nil {
			return started.browser, true
		}
		t.Logf("Chromium does not start: %v", err)
	}
	t.Fatal(err)
	return browser{}, false
}

// browserStarts is the number of attempts to start Chromium, which sometimes crashes at its start
// on a busy machine.
const browserStarts = 3

// launch starts Chromium once.
func launch(path string) (browser, error) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,PreloadTopChromeWebUI"))
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		end()
		return browser{}, err
	}
	endBrowser = func() error {
		defer end()
		defer cancel()
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	return browser{ctx, os.Getenv("PAYLEDGER_SCREENSHOTS")}, nil
}

// look is a width of the window, and a colour scheme.
type look struct {
	width int64
	dark  bool
}

func (l look) String() string { return fmt.Sprintf("%d, dark %t", l.width, l.dark) }

// looks are those of this run: a telephone and a desk, in light and dark. Two of them take turns
// with the two others, so that each run has both widths and both colour schemes.
func looks() (these []look) {
	for i, pair := range [][]look{{{390, false}, {1280, true}}, {{390, true}, {1280, false}}} {
		if seedtest.Turn(i, 2) {
			these = append(these, pair...)
		}
	}
	return these
}

// tab is one tab of a browser, with its own context, and the browser's complaints about it.
type tab struct {
	t        *testing.T
	ctx      context.Context
	pictures string

	mu         sync.Mutex
	complaints []string
	requests   []*network.Request
}

// patience is the longest time that a page may take to show the expected content.
const patience = 2 * time.Minute

// tab opens a tab with the width of a telephone or of a screen. The test fails if the browser
// complains of anything but the allowed texts.
func (b browser) tab(t *testing.T, width int64, allowed ...string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	w := &tab{t: t, ctx: ctx, pictures: b.pictures}
	t.Cleanup(func() {
		cancel()
		for _, complaint := range w.complained() {
			known := false
			for _, text := range allowed {
				known = known || strings.Contains(complaint, text)
			}
			if !known {
				t.Errorf("the browser complains: %s", complaint)
			}
		}
	})
	w.ok(chromedp.Listen(ctx, w.note))
	enable(w, log.Enable, cdp.Empty{})
	enable(w, audits.Enable, cdp.Empty{})
	enable(w, network.Enable, network.EnableParams{})
	enable(w, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // tabs run side by side
	w.do(chromedp.EmulateViewport(width, 900))
	return w
}

// look opens a tab with a look.
func (b browser) look(t *testing.T, l look, allowed ...string) *tab {
	t.Helper()
	w := b.tab(t, l.width, allowed...)
	if l.dark {
		w.dark()
	}
	return w
}

// enable lets the browser report the events of one of its domains.
func enable[P, R any](w *tab, domain cdp.Command[P, R], params P) {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, domain, params)
	w.ok(err)
}

// ok ends the test at an error, with the content of the tab.
func (w *tab) ok(err error) {
	w.t.Helper()
	if err == nil {
		return
	}
	at, _ := chromedp.Run(w.ctx, chromedp.Location())
	text, _ := chromedp.Run(w.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	w.t.Fatalf("%v at %s, which shows:\n%s\n%v", err, at, text, w.complained())
}

// note records the browser's reports: errors, violations of the content security policy, requests.
func (w *tab) note(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	complain := func(format string, args ...any) { w.complaints = append(w.complaints, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			complain("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		complain("exception: %v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		complain("console.%s", e.Type)
	case *audits.EventIssueAdded:
		complain("issue: %s %+v %+v", e.Issue.Code, e.Issue.Details.ContentSecurityPolicyIssueDetails, e.Issue.Details.GenericIssueDetails)
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, e.Request)
	}
}

func (w *tab) complained() []string { w.mu.Lock(); defer w.mu.Unlock(); return w.complaints }

// sent returns the requests of a method, or of any ("") method, whose paths begin with path.
func (w *tab) sent(method, path string) (found []*network.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), "/")
		if (method == "" || r.Method == method) && strings.HasPrefix("/"+rest, path) {
			found = append(found, r)
		}
	}
	return found
}

// do carries out actions, and ends the test when one fails or takes too long.
func (w *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	w.ok(chromedp.Do(ctx, actions...))
}

// eval returns the value of an expression, after awaiting it.
func eval[T any](w *tab, expression string) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	w.ok(err)
	return value
}

// leave runs an expression that may leave the page, after its answer: Chromium answers nothing for
// a page that is left.
func (w *tab) leave(expression string) {
	w.t.Helper()
	eval[string](w, fmt.Sprintf(`setTimeout(() => { %s }); ""`, expression))
}

// awaited is a condition of a loaded page with its scripts, as a promise: the page evaluates the
// condition again after each change of the document.
const awaited = `new Promise((done) => {
	const holds = () => { try { return document.readyState === "complete" && %s } catch { return false } };
	if (holds()) return done(true);
	const again = () => { if (holds()) { watch.disconnect(); done(true); } };
	const watch = new MutationObserver(again);
	watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
	document.addEventListener("readystatechange", again);
})`

// until waits for a condition of the document, over any number of page loads: the promise of a page
// ends with the page.
func (w *tab) until(condition string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(awaited, "("+condition+")"), chromedp.EvalAwaitPromise))
		if err == nil && holds {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			w.ok(fmt.Errorf("waiting for %s: %w", condition, ctx.Err()))
		}
	}
}

// wake ends a page's pause before its next request to the service, as a returning network does.
func (w *tab) wake() {
	w.t.Helper()
	eval[bool](w, `dispatchEvent(new Event("online"))`)
}

// shown waits for a state of the payment's page.
func (w *tab) shown(state string) {
	w.t.Helper()
	w.until(fmt.Sprintf(`document.querySelector('[data-state=%q]')?.hidden === false`, state))
}

// text returns the text of an element.
func (w *tab) text(selector string) string {
	w.t.Helper()
	return eval[string](w, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

// names returns the accessible names of the page's elements of a role, as a screen reader reads
// them.
func (w *tab) names(role string) (names []string) {
	w.t.Helper()
	tree, err := chromedp.Call(w.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	w.ok(err)
	for _, node := range tree.Nodes {
		var is, name string
		if node.Ignored || node.Role == nil || json.Unmarshal(node.Role.Value, &is) != nil || is != role {
			continue
		}
		if node.Name != nil {
			w.ok(json.Unmarshal(node.Name.Value, &name))
		}
		names = append(names, name)
	}
	return names
}

// value returns the value of a field.
func (w *tab) value(selector string) string {
	w.t.Helper()
	return eval[string](w, fmt.Sprintf(`document.querySelector(%q).value`, selector))
}

// click clicks as a person does, when the button can be clicked.
func (w *tab) click(selector string) {
	w.t.Helper()
	w.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeEnabled))
}

// keys types into the focused element.
func (w *tab) keys(text string) {
	w.t.Helper()
	w.do(chromedp.KeyEvent(text))
}

// focus puts the focus on a field.
func (w *tab) focus(selector string) {
	w.t.Helper()
	w.do(chromedp.Focus(chromedp.CSS(selector)))
}

// load opens an address.
func (w *tab) load(address string) {
	w.t.Helper()
	w.do(chromedp.Navigate(address))
}

// usable is the condition of a payment's page whose script runs and waits for nothing.
const usable = `document.querySelector("#pay")?.disabled === false`

// open opens the page of a payment and waits until it can be used.
func (w *tab) open(address string) {
	w.t.Helper()
	w.load(address)
	w.until(usable)
}

// reload loads the page again.
func (w *tab) reload() {
	w.t.Helper()
	w.do(chromedp.Reload())
	w.until(usable)
}

// untilText waits until an element says a text.
func (w *tab) untilText(selector, text string) {
	w.t.Helper()
	w.until(fmt.Sprintf(`document.querySelector(%q)?.innerText.includes(%q) === true`, selector, text))
}

// picture keeps a picture of the whole page, where they are wanted.
func (w *tab) picture(name string) {
	w.t.Helper()
	if w.pictures == "" {
		return
	}
	png, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
	w.ok(err)
	w.ok(os.WriteFile(filepath.Join(w.pictures, name+".png"), png, 0o600))
}

// dark makes the tab one of a dark desk, where nothing moves.
func (w *tab) dark() {
	w.t.Helper()
	enable(w, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: "dark"}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}
