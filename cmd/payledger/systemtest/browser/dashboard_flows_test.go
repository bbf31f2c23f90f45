//go:build system && !race

package browser

import (
	"testing"

	"payledger/cmd/payledger/apptest"
)

// TestWorkflowInBrowser: a condition is checked while it is written, the simulation of the draft is
// shown, and the workflow is made; a rule is moved and the preview follows. The pages fit a
// telephone, and axe-core finds nothing.
func TestWorkflowInBrowser(t *testing.T) {
	t.Parallel()
	b, found := startBrowser(t)
	if !found {
		return
	}
	source, there := axe(t)
	if !there {
		return
	}
	r := apptest.NewDisputeRun(t, nil)
	disputed := r.Open(r.Settled("order-1", apptest.CardApproved, "ADYEN"), "DISPUTE")
	r.Eventually("the dispute is shown", func() bool { return r.Shows(disputed.ID).ID != "" })
	w := b.tab(t, 390, unsigned, "422 (Unprocessable")
	w.withAxe(source)
	o := office{app: r.App}
	o.signIn(w, "/dashboard/workflows/new")
	api := r.App.Ready().API
	fits := func(page string) {
		t.Helper()
		w.accessible(page)
		if over := eval[int](w, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s is %d pixels wider than the window", page, over)
		}
	}
	w.until(`document.querySelector("#condition") !== null`)
	w.focus("#name")
	w.keys("Halves")
	w.focus("#condition")
	eval[string](w, `const c = document.getElementById("condition"); c.value = "payment.amount >"; c.dispatchEvent(new Event("input", {bubbles: true})); ""`)
	w.untilText("#condition-check", "Line 1, column")
	eval[string](w, `const d = document.getElementById("condition"); d.value = "payment.amount > 1"; d.dispatchEvent(new Event("input", {bubbles: true})); ""`)
	w.untilText("#condition-check", "The condition is valid.")
	w.click(`button[value="simulate"]`)
	w.untilText("[data-refusal]", "The workflow has no action yet.")
	w.until(`document.activeElement.id === "type" && document.activeElement.getBoundingClientRect().bottom <= innerHeight`)
	fits("the editor without an action")
	w.click(`button[value="add"]`)
	w.until(`document.activeElement.textContent.includes("1. Capture")`)
	if name := w.value("#name"); name != "Halves" {
		t.Errorf("the name is %q after an action was added", name)
	}
	fits("the editor")
	w.click(`button[value="simulate"]`)
	w.untilText("h1", "Before you save: Halves")
	fits("the simulation")
	w.click(`button[value="save"]`)
	w.untilText("h1", "Halves")
	w.untilText("main", "The workflow is made and enabled.")
	fits("the workflow")
	for _, name := range []string{"one", "two"} {
		w.load(api + "/dashboard/routing/rules/new")
		fits("the rule")
		w.focus("#name")
		w.keys(name)
		eval[string](w, `document.getElementById("processor1").value = "STRIPE"; ""`)
		w.click("form .primary")
		w.untilText("main", "The change is saved.")
	}
	w.click(`button[value="up"]`)
	w.until(`document.querySelector(".rules h3")?.textContent === "1. two"`)
	w.load(api + "/dashboard/processors?currency=EUR&amount=25.00")
	w.untilText(".answer", "The rule two decides")
	fits("processors and routing")
	for _, page := range []string{"/dashboard/workflows", "/dashboard/disputes"} {
		w.load(api + page)
		fits(page)
	}
	at := eval[string](w, `document.querySelector("main td a.id").href`)
	w.load(at)
	w.untilText("main", "It opened the dispute here.")
	fits("the dispute")
	w.untilText("main", "Answer by")
}
