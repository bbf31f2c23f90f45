//go:build system && !race

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// noFundsCard is declined for want of money (D13).
const noFundsCard = "4000000000009995"

// testLanguages: the page is in the language of its address, fits a phone, and has no fault for
// people with a screen reader; in Arabic it is written from the right. The language stays after a
// reload.
func (s till) testLanguages(t *testing.T) {
	source, there := axe(t)
	if !there {
		return
	}
	for _, c := range []struct{ locale, dir, pay string }{
		{"en", "ltr", "Pay €109.90"}, {"de", "ltr", "109,90\u00a0€"}, {"fr", "ltr", "109,90\u00a0€"}, {"es", "ltr", "109,90\u00a0€"}, {"it", "ltr", "109,90\u00a0€"},
		{"nl", "ltr", "€\u00a0109,90"}, {"pl", "ltr", "109,90\u00a0€"}, {"pt", "ltr", "€\u00a0109,90"}, {"ja", "ltr", "€109.90"}, {"ar", "rtl", "\u2068109.90\u00a0€\u2069"},
	} {
		_, address := s.order(t, map[string]any{"returnUrl": "https://shop.example/back"})
		w := s.browser.tab(t, 390)
		w.withAxe(source)
		w.open(address + "&locale=" + c.locale)
		for visit := range 2 {
			if got := eval[string](w, `document.documentElement.lang + " " + document.documentElement.dir`); got != c.locale+" "+c.dir {
				t.Errorf("%s is in %s", c.locale, got)
			}
			if got := w.text("#pay"); !strings.Contains(got, c.pay) {
				t.Errorf("%s: the button says %q", c.locale, got)
			}
			if wide := eval[int64](w, `document.documentElement.scrollWidth`); wide > 390 {
				t.Errorf("%s is %d wide", c.locale, wide)
			}
			if visit == 0 {
				w.accessible("checkout in " + c.locale)
			}
			w.picture("language-" + c.locale)
			w.reload()
			w.until(usable)
		}
		w.click("#pay")
		w.until(`document.getElementById("number-error").textContent !== ""`)
		if got := w.text("#number-error"); (got == "Enter the card number.") != (c.locale == "en") {
			t.Errorf("%s: without a number it says %q", c.locale, got)
		}
	}
}

// testDigits: a number in the digits of another script is a card's number.
func (s till) testDigits(t *testing.T) {
	order, address := s.order(t, nil)
	w := s.browser.tab(t, 390)
	w.open(address + "&locale=ar")
	spell := func(zero rune, text string) string {
		return strings.Map(func(r rune) rune { return r - '0' + zero }, text)
	}
	for _, zero := range []rune{'٠', '۰', '０', '०', '๐'} {
		w.focus("#number")
		w.insert(spell(zero, approvedCard))
		if got := w.value("#number"); got != "4111 1111 1111 1111" {
			t.Errorf("%s is read as %q", spell(zero, approvedCard), got)
		}
		for range 20 {
			w.keys(kb.Backspace)
		}
	}
	w.fill(spell('٠', approvedCard), "٠٣/"+spell('٠', goodThrough[2:]), "٧٣٧", "Ada Lovelace")
	w.click("#pay")
	w.shown("succeeded")
	s.wants(t, order, "AUTHORIZED")
}

// testNoFunds: of the reasons of a decline the page tells the two that a customer can do something
// about, and a total stands below the order's lines.
func (s till) testNoFunds(t *testing.T) {
	_, address := s.order(t, nil)
	w := s.browser.tab(t, 390)
	w.open(address)
	if got := w.text(".lines .sum"); !strings.Contains(got, "Total") || !strings.Contains(got, "€109.90") {
		t.Errorf("below the lines it says %q", got)
	}
	w.payWith(noFundsCard)
	w.shown("declined")
	if got := w.text("[data-because]"); !strings.Contains(got, "too little money") {
		t.Errorf("it says %q", got)
	}
	w.picture(fmt.Sprintf("no-funds-%d", 390))
}
