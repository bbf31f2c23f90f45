//go:build system && !race

package browser

import (
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
)

// testShop: a customer buys in the demo's shop, pays on the hosted page and comes back to a receipt
// that a signed webhook fills in.
func (s till) testShop(t *testing.T) {
	s = s.browser.openTill(t, func(*options.Options) {}) // whose account takes the shop's name
	shop := openShop(t, s.app)
	for _, width := range widths() {
		w := s.browser.tab(t, width)
		w.load(shop.URL)
		w.picture(map[int64]string{1280: "shop-1280", 390: "shop-390"}[width])
		if got := w.names("combobox"); !slices.Equal(got, []string{"Pieces of Notebook", "Pieces of Fountain pen", "Pieces of Desk lamp"}) {
			t.Errorf("the fields of the cart are called %q", got)
		}
		w.click("button")
		w.until(usable)
		if got, title := w.text("#merchant")+" "+w.text("#amount"), eval[string](w, "document.title"); got != "Desk & Paper €92.50" || !strings.Contains(title, "Desk & Paper") {
			t.Errorf("the checkout shows %s, and is called %s", got, title)
		}
		w.payWith(approvedCard)
		w.untilText("h1", "Thank you for your order")
		w.untilText("section", "is AUTHORIZED")
		if says := w.text("main"); strings.Contains(strings.ToLower(says), "paid") || !strings.Contains(says, "Reserved on your card") {
			t.Errorf("the receipt of an authorization says %q", says)
		}
		if got := eval[int](w, `[...document.querySelectorAll(".id")].filter((id) => id.getClientRects().length === 1).length`); got != 2 {
			t.Errorf("%d ids of 2 stand in one line", got)
		}
		w.picture(map[int64]string{1280: "receipt-1280", 390: "receipt-390"}[width])
		for _, r := range w.sent("", "/") {
			if strings.Contains(postData(r)+r.URL, s.Key) || strings.Contains(postData(r)+r.URL, "plsec_") {
				t.Errorf("%s carries a secret of the shop", r.URL)
			}
		}
	}
}

// testReceiptFillsIn: a receipt that is open before the payment changes without a reload when the
// webhook arrives. A decline and a second card change it one after the other.
func (s till) testReceiptFillsIn(t *testing.T) {
	s = s.browser.openTill(t, func(*options.Options) {})
	shop := openShop(t, s.app)
	customer, receipt := s.browser.tab(t, 1280), s.browser.tab(t, 390)
	customer.load(shop.URL)
	customer.click("button")
	customer.until(usable)
	receipt.load(eval[string](customer, `document.body.dataset.return`))
	receipt.untilText("#result", "We are waiting")
	receipt.picture("receipt-waiting-390")
	customer.payWith(apptest.DeclinedCard)
	receipt.untilText("#result", "is DECLINED; nothing was charged")
	customer.click(`[data-state="declined"] [data-retry]`)
	customer.until(usable)
	customer.payWith(approvedCard)
	receipt.untilText("section", "is AUTHORIZED")
	id := receipt.text("section .quiet:last-child .id")
	s.Must(t, "POST", "/payments/"+id+"/capture", s.Headers(), nil)
	receipt.untilText("h1", "Thank you, it is paid")
	receipt.untilText("section", "is SETTLED")
}
