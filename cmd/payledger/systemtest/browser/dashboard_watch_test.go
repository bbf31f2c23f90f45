//go:build system && !race

package browser

import "testing"

// testSessionOver: a page that is watched while its session ends says so in sight, at its next
// refresh, also if the focus is in the part that is refreshed. After a sign-in in another tab it
// goes on.
func (o *office) testSessionOver(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	o.signIn(w, "/dashboard")
	eval[string](w, `sessionStorage.removeItem("paused"); ""`)
	w.load(o.app.Ready().API + "/dashboard")
	w.untilText("[data-live-state]", "Refreshes every 5 seconds.")
	w.focus("[data-live] summary")
	eval[int](w, `fetch("/dashboard/logout", {method: "POST"}).then((answer) => answer.status)`)
	w.untilText("#connection", "Your session is over. This page shows an earlier state.")
	w.untilText("[data-live-state]", "Your session is over.")
	const inSight = `(() => { scrollTo(0, document.body.scrollHeight); const r = document.getElementById("connection").getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight })()`
	if !eval[bool](w, inSight) {
		t.Error("the message is out of sight")
	}
	w.picture("dashboard-session-over")
	login := `fetch("/dashboard/login", {method: "POST", body: new URLSearchParams({email: "` + o.app.Credentials.DashboardUser + `", password: "` + o.app.Credentials.DashboardPassword + `"})}).then((answer) => answer.status)`
	if status := eval[int](w, login); status != 200 {
		t.Fatalf("the sign-in is answered with %d", status)
	}
	w.until(`document.getElementById("connection").hidden`)
	w.untilText("[data-live-state]", "Refreshes every 5 seconds.")
}
