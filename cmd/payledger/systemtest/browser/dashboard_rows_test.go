//go:build system && !race

package browser

import (
	"strings"
	"testing"
)

// testRows: a row of a list opens its page on a click, the name of a column sorts the rows of the
// page, "?" shows the keys, and "g" with a letter leads to a page.
func (o *office) testRows(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard/payments")
	w.load(o.app.Ready().API + "/dashboard/payments")
	w.until(`document.querySelector("th .sort") !== null`)
	statuses := func() string {
		return eval[string](w, `[...document.querySelectorAll("td[data-label=Status]")].map((c) => c.dataset.value).join()`)
	}
	w.click(`[data-sortable] th:nth-child(2) .sort`)
	w.until(`document.querySelector("[data-sortable] th:nth-child(2)").getAttribute("aria-sort") === "ascending"`)
	up := statuses()
	w.click(`[data-sortable] th:nth-child(2) .sort`)
	w.until(`document.querySelector("[data-sortable] th:nth-child(2)").getAttribute("aria-sort") === "descending"`)
	down := statuses()
	if first, last := strings.Split(up, ",")[0], strings.Split(down, ",")[0]; up == down || first >= last {
		t.Errorf("sorted %s, and the other way %s", up, down)
	}
	eval[bool](w, `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "?", bubbles: true, cancelable: true}))`)
	w.until(`document.querySelector("#keys").open`)
	w.picture("dashboard-keys")
	w.click("#keys button")
	w.until(`!document.querySelector("#keys").open`)
	w.leave(`document.querySelector("tr[data-opens$='` + o.payment + `'] td[data-label=Card]").click()`)
	w.until(`location.pathname.endsWith("` + o.payment + `")`)
	w.untilText("main", "Next:")
	w.leave(`for (const key of ["g", "p"]) document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}))`)
	w.until(`location.pathname === "/dashboard/payments"`)
}

// testSavedViews: a saved view stands beside the other filters, is marked, and takes its own away.
func (o *office) testSavedViews(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard/payments?status=DECLINED")
	w.load(o.app.Ready().API + "/dashboard/payments?status=DECLINED")
	w.click("#filters summary")
	w.focus("#view-name")
	w.keys("Mine\r")
	const mine = `document.querySelector("[data-saved-views] ul a")`
	w.until(mine + ` !== null`)
	for _, step := range []struct{ at, active, next string }{
		{"?order=order-1&status=FAILED&cursor=", "null", "?order=order-1&status=DECLINED"},
		{"?order=order-1&status=DECLINED", `"true"`, "?order=order-1"},
	} {
		w.load(o.app.Ready().API + "/dashboard/payments" + step.at)
		w.until(mine + ` !== null`)
		if got := eval[string](w, `JSON.stringify(`+mine+`.getAttribute("aria-current")) + " " + `+mine+`.search`); got != step.active+" "+step.next {
			t.Errorf("at %s the view has %s", step.at, got)
		}
	}
}

// testBulk: a bulk refund in the browser, first counted, then done.
func (o *office) testBulk(t *testing.T) {
	id := o.payFor(t, approvedCard, "bulk-order", 700)
	o.merchant.Must(t, "POST", "/payments/"+id+"/capture", o.merchant.Headers(), nil)
	w := o.browser.tab(t, 1280, expected...)
	w.withAxe(o.axe)
	o.signIn(w, "/dashboard/payments?order=bulk-order")
	w.click(`a[href^="/dashboard/bulk/refund"]`)
	w.untilText("main h1", "Refund 1 payment?")
	w.fits("bulk-refund")
	w.click("main button.danger")
	w.untilText("main h1", "The refund was requested")
	w.fits("bulk-refunded")
}

// testDownload: the list as a file. A lost connection loses nothing of it, and at the end the file
// has every payment.
func (o *office) testDownload(t *testing.T) {
	w := o.browser.tab(t, 1280, unsigned, "net::ERR")
	w.withAxe(o.axe)
	o.signIn(w, "/dashboard/payments")
	w.until(`document.querySelector("[data-parts]") !== null`)
	eval[string](w, `{ const make = URL.createObjectURL; URL.createObjectURL = (file) => { window.saved = file; return make.call(URL, file) }; "" }`)
	w.cutAnswers("*/payments.csv*", 1)
	w.click("[data-parts]")
	w.untilText("#parts", "The connection was lost.")
	w.fits("download-lost")
	w.click("#parts [data-go]")
	w.untilText("#parts", "is saved.")
	rows := eval[int](w, `saved.text().then((text) => text.trim().split("\n").length - 1)`)
	if shown := eval[int](w, `Number(document.querySelector("[data-parts]").dataset.parts)`); rows != shown || rows == 0 {
		t.Errorf("the file has %d payments of %d", rows, shown)
	}
	w.click("[data-rows=movements]")
	w.untilText("#parts", " movements.")
	if head := eval[string](w, `saved.text().then((text) => text.trim().split("\n")[0])`); !strings.Contains(head, "date_utc,type,currency,amount") {
		t.Errorf("the file of movements begins with %s", head)
	}
	w.fits("download")
}
