//go:build system && !race

package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"

	"payledger/cmd/payledger/apptest"
)

// axe is the source of axe-core, which checks pages for people who use a keyboard or a screen
// reader; false where it cannot be installed.
func axe(t *testing.T) (source string, there bool) {
	t.Helper()
	tools, there := apptest.NpmTools(t)
	if !there {
		return "", false
	}
	text, err := os.ReadFile(filepath.Join(tools, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), true
}

// withAxe loads axe-core into every page of the tab, beside the page's own scripts: no policy of
// the page applies to it.
func (w *tab) withAxe(source string) {
	w.t.Helper()
	enable(w, page.Enable, page.EnableParams{})
	enable(w, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
}

// accessible fails the test for each rule of axe-core that the page breaks.
func (w *tab) accessible(name string) {
	w.t.Helper()
	type violation struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	var found []violation
	shades := func(image string) { // axe-core reads no contrast above a gradient
		eval[string](w, fmt.Sprintf(`for (const box of document.querySelectorAll(".scroll")) box.style.backgroundImage = %q; ""`, image))
	}
	shades("none")
	text := eval[string](w, `axe.run(document, {resultTypes: ["violations"]}).then((result) => JSON.stringify(result.violations))`)
	shades("")
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		w.t.Fatal(err)
	}
	for _, v := range found {
		w.t.Errorf("%s: axe-core: %s: %s\n%+v", name, v.ID, v.Help, v.Nodes[:min(3, len(v.Nodes))])
	}
}

// inSight fails the test if the page is wider than the window, if a list has a column beside it, or
// if a table scrolls to the side without a shade at its edge.
func (w *tab) inSight(name string) {
	w.t.Helper()
	var page struct {
		Window, Page             int64
		Wide, Unhinted, Captions []string
	}
	text := eval[string](w, `(() => {
		const wide = [...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth)
		const names = (boxes) => boxes.map((box) => box.ariaLabel + " " + box.scrollWidth + " in " + box.clientWidth)
		return JSON.stringify({
			window: innerWidth, page: document.documentElement.scrollWidth,
			wide: names(wide.filter((box) => box.matches(".list .scroll"))),
			captions: [...document.querySelectorAll(".scroll caption")].filter((caption) => caption.offsetWidth > caption.closest(".scroll").clientWidth).map((caption) => caption.textContent),
			unhinted: names(wide.filter((box) => !getComputedStyle(box).backgroundImage.includes("gradient"))),
		})
	})()`)
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		w.t.Fatal(err)
	}
	if page.Page > page.Window || len(page.Wide)+len(page.Unhinted)+len(page.Captions) > 0 {
		w.t.Errorf("%s: %+v", name, page)
	}
}
