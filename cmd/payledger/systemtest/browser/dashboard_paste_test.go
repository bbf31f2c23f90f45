//go:build system && !race

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
)

// command carries out a command of the browser's editor, such as copy or paste, as its keys do.
func (w *tab) command(name string) {
	w.t.Helper()
	enable(w, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Commands: []string{name}})
}

// testPaste: a time that is copied from a page can be pasted into the fields for times and days,
// which are in UTC, also where the page shows it in the local time zone. A time with the name of
// another zone without its offset is not pasted. A day as an end is the whole day.
func (o *office) testPaste(t *testing.T) {
	w := o.browser.tab(t, 1280, expected...)
	in := func(zone string) {
		enable[emulation.SetTimezoneOverrideParams, cdp.Empty](w, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
	}
	here := "Asia/Kolkata"
	in(here)
	page := "/dashboard/payments/" + o.payment
	o.signIn(w, page)
	w.load(o.app.Ready().API + page)
	const time = `document.querySelector(".timeline time")`
	at := strings.TrimSuffix(eval[string](w, time+`.getAttribute("datetime")`), "Z")
	seconds := strings.TrimSuffix(at, ":00") // the field leaves them out
	paste := func(field, want string) {
		t.Helper()
		w.focus(field)
		w.command("paste")
		if got := w.value(field); got != want {
			t.Errorf("%s has %q, want %q", field, got, want)
		}
	}
	copies := func(text string) {
		eval[string](w, `document.querySelector("h1").textContent = "`+text+`"; getSelection().selectAllChildren(document.querySelector("h1")); ""`)
		w.command("copy")
	}
	for _, zone := range []string{"UTC", "GMT+5:30"} {
		w.until(time + ` !== null`)
		if zone != "UTC" {
			w.click("[data-zone-toggle]")
		}
		copied := eval[string](w, `getSelection().selectAllChildren(`+time+`); getSelection().toString()`)
		if !strings.HasSuffix(copied, zone) {
			t.Fatalf("the page shows %s, not in %s", copied, zone)
		}
		w.command("copy")
		eval[string](w, `document.querySelector("#at-time").value = ""`)
		paste("#at-time", seconds)
		w.load(o.app.Ready().API + "/dashboard/deliveries")
		w.click("#filters summary")
		paste("#f-to", at[:len("2026-03-14T09:26")])
		w.load(o.app.Ready().API + "/dashboard/payments")
		w.click("#filters summary")
		paste("#f-from", at[:len("2026-03-14")])
		w.load(o.app.Ready().API + page)
	}
	for _, c := range []struct{ zone, text, want string }{
		{"Asia/Kolkata", "14 Mar 2026 09:26:53 UTC", "2026-03-14T09:26:53"}, {"Asia/Kolkata", "4 Sept 2026 00:00:01 GMT+5:30", "2026-09-03T18:30:01"},
		{"Asia/Kolkata", "14 Mar 2026", "2026-03-14T00:00"}, {"Asia/Kolkata", "2026-03-14 09:26:53", "2026-03-14T09:26:53"},
		{"Asia/Kolkata", "2026-03-14T09:26:53.123456Z", "2026-03-14T09:26:53"}, {"Asia/Kolkata", "2026-03-14T09:26:53+01:00", "2026-03-14T08:26:53"},
		{"Asia/Kolkata", "99 Mar 2026", ""}, {"Asia/Kolkata", "31 Jun 2026", ""}, {"Asia/Kolkata", "2026-06-31T09:00:00Z", ""}, {"Asia/Kolkata", "yesterday", ""},
		{"Europe/Berlin", "14 Mar 2026 09:26:53 GMT+5:30", "2026-03-14T03:56:53"}, {"Europe/Berlin", "14 Mar 2026 09:26:53 GMT-3", "2026-03-14T12:26:53"},
		{"Europe/Berlin", "14 Mar 2026 09:26:53 GMT", "2026-03-14T09:26:53"}, {"Europe/Berlin", "14 Mar 2026 09:26:53 EST", ""},
		{"Europe/Berlin", "14 Jul 2026 09:26:53 CEST", "2026-07-14T07:26:53"}, {"Europe/Berlin", "14 Jul 2026 09:26:53 CET", ""},
		{"Europe/Berlin", "25 Oct 2026 02:30:01 CEST", "2026-10-25T00:30:01"}, {"Europe/Berlin", "25 Oct 2026 02:30:01 CET", "2026-10-25T01:30:01"},
		{"Europe/Berlin", "29 Mar 2026 02:30:01 CET", ""},
	} {
		if c.zone != here { // a page keeps the time zone in which it was loaded
			here = c.zone
			in(here)
			w.load(o.app.Ready().API + page)
		}
		copies(c.text)
		eval[string](w, `document.querySelector("#at-time").value = ""`)
		paste("#at-time", c.want)
	}
	w.load(o.app.Ready().API + "/dashboard/deliveries")
	w.click("#filters summary")
	copies("14 Mar 2026")
	paste("#f-from", "2026-03-14T00:00")
	paste("#f-to", "2026-03-14T23:59")
}
