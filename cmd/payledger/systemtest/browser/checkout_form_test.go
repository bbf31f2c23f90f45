//go:build system && !race

package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/httpapi/checkout"
)

// till is a running service, a merchant of it, and a browser to pay in.
type till struct {
	*apptest.Merchant
	browser  browser
	app      *app.App
	customer string // "" for one of the test's own
}

// openTill starts a service with changed options.
func (b browser) openTill(t *testing.T, change func(*options.Options)) till {
	t.Helper()
	options := apptest.TestOptions(t.TempDir())
	change(&options)
	app := apptest.StartApp(t, options)
	return till{Merchant: apptest.NewMerchant(app.Ready().API, app.Credentials.APIKey), browser: b, app: app}
}

// session opens a session, and returns the address of its page and its client token.
func (s till) session(t *testing.T, fields map[string]any) (url, clientToken string) {
	t.Helper()
	body := map[string]any{
		"orderId": "order-1", "currencyCode": "EUR", "customerId": cmp.Or(s.customer, "customer of "+t.Name()),
		"order": map[string]any{
			"lineItems": []any{
				map[string]any{"name": "Notebook, dotted, A5", "amount": 1250, "quantity": 2, "productType": "PHYSICAL"},
				map[string]any{"name": "Fountain pen", "amount": 8000, "quantity": 1, "productType": "PHYSICAL"},
			},
			"shipping": map[string]any{"amount": 490, "methodName": "Parcel"},
		},
	}
	for name, value := range fields {
		if body[name] = value; value == nil {
			delete(body, name)
		}
	}
	var made struct {
		ClientToken string `json:"clientToken"`
	}
	s.Must(t, "POST", "/client-session", s.Headers(), body).Decode(t, &made)
	return s.API + "/checkout?clientToken=" + made.ClientToken, made.ClientToken
}

// fill enters a card into the form with the keyboard alone, from the number's field on; each field
// at once.
func (w *tab) fill(number, expiry, cvv, name string) {
	w.t.Helper()
	w.focus("#number")
	for i, text := range []string{number, expiry, cvv, name} {
		if i > 0 {
			w.keys(kb.Tab)
		}
		w.insert(text)
	}
}

// insert enters a text into the focused element, as a paste or an input method does.
func (w *tab) insert(text string) {
	w.t.Helper()
	enable(w, input.InsertText, input.InsertTextParams{Text: text})
}

// goodThrough is an expiry date to come, as it is typed.
var goodThrough = "03" + apptest.Expires[2:]

// testAmounts: the button shows the amount in the browser's own format, with the digits of
// ISO 4217.
func (s till) testAmounts(t *testing.T) {
	for _, c := range []struct {
		currency, shown string
		amount          int64
	}{
		{"EUR", "€12.34", 1234}, {"EUR", "€0.05", 5}, {"USD", "$1,234,567.89", 123456789}, {"JPY", "¥1,234", 1234},
		{"KWD", "KWD\u00a01.234", 1234}, {"CLF", "CLF\u00a00.1234", 1234}, {"XAU", "XAU\u00a07", 7},
	} {
		if got := checkout.Money(domain.Amount(c.amount), domain.Currency(c.currency)); got != c.shown {
			t.Errorf("%d %s is written %q, want %q", c.amount, c.currency, got, c.shown)
		}
	}
	w := s.browser.tab(t, 1280)
	url, _ := s.session(t, map[string]any{"currencyCode": "KWD", "amount": 1234567, "order": nil})
	w.open(url)
	if got := w.text("#pay"); got != "Pay KWD\u00a01,234.567" {
		t.Errorf("the button says %q", got)
	}
	for _, currency := range []string{"EUR", "USD", "GBP", "JPY", "KRW", "INR", "CHF", "BHD", "SEK", "VND", "MXN", "BRL", "PHP", "HKD", "ILS"} {
		var digits int
		for text := checkout.Money(1_234_567, domain.Currency(currency)); strings.Contains(text, "."); text = text[strings.IndexByte(text, '.')+1:] {
			digits = len(text) - strings.IndexByte(text, '.') - 1
		}
		want := eval[string](w, fmt.Sprintf(
			`new Intl.NumberFormat("en-US", {style: "currency", currency: %q}).format(1234567 / 10 ** %d)`, currency, digits))
		if got := checkout.Money(1_234_567, domain.Currency(currency)); got != want {
			t.Errorf("1234567 %s is written %q; browsers write %q", currency, got, want)
		}
	}
}

// testCards: the page and the service agree on which numbers can be cards, and of which brand.
func (s till) testCards(t *testing.T) {
	var numbers []string
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		digits := make([]byte, 12+random.IntN(9))
		for i := range digits {
			digits[i] = '0' + byte(random.IntN(10))
		}
		for digits[0] = "23456"[random.IntN(5)]; random.IntN(10) > 0 && !domain.Luhn(string(digits)); {
			digits[len(digits)-1] = '0' + (digits[len(digits)-1]-'0'+1)%10
		}
		numbers = append(numbers, string(digits))
	}
	w := s.browser.tab(t, 1280)
	url, _ := s.session(t, nil)
	w.open(url)
	list, _ := json.Marshal(numbers)
	judged := eval[[]struct {
		Problem, Name string
		CVV           int
	}](w, fmt.Sprintf(`import(document.scripts[0].src.replace("checkout.js", "card.js")).then((card) =>
		%s.map((n) => ({Problem: card.numberProblem(n), Name: card.brandOfWhole(n)?.name, CVV: card.brandOf(n).cvv})))`, list))
	names := map[domain.Network]string{
		domain.NetworkAmex: "Amex", domain.NetworkDiners: "Diners", domain.NetworkDiscover: "Discover",
		domain.NetworkJCB: "JCB", domain.NetworkMaestro: "Maestro", domain.NetworkMastercard: "Mastercard",
		domain.NetworkMir: "Mir", domain.NetworkUnionPay: "UnionPay", domain.NetworkVisa: "Visa",
	}
	valid := 0
	for i, number := range numbers {
		j := judged[i]
		if (j.Problem == "") != domain.ValidCardNumber(number) {
			t.Errorf("%s: the page says %q, the service %v", number, j.Problem, domain.ValidCardNumber(number))
		}
		if network, _ := domain.CardNetwork(number); j.Problem == "" && (names[network] != j.Name || network.CVVLength() != j.CVV) {
			t.Errorf("%s: the page says %s with %d, the service %s", number, j.Name, j.CVV, network)
		} else if j.Problem == "" {
			valid++
		}
	}
	if valid < 900 {
		t.Errorf("only %d numbers were cards", valid)
	}
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{now.Add(-1), now} {
		for m := range 36 {
			month := time.Date(2025, time.Month(m+1), 1, 0, 0, 0, 0, time.UTC)
			problem := eval[string](w, fmt.Sprintf(`import(document.scripts[0].src.replace("checkout.js", "card.js")).then((card) => card.expiryProblem(%q, %q))`,
				month.Format("0106"), domain.OldestMonth(at).Format("2006-01")))
			if (problem != "") != domain.CardExpired(month.Format("01"), month.Format("2006"), at) {
				t.Errorf("%s at %s: the page says %q", month.Format("01/2006"), at, problem)
			}
		}
	}
}

// testTyping: digits are grouped as on the card, and corrections keep the place of the cursor.
func (s till) testTyping(t *testing.T) {
	w := s.browser.tab(t, 390)
	url, _ := s.session(t, nil)
	w.open(url)
	for _, c := range []struct{ field, typed, shown string }{
		{"number", "4111-1111x1111 11119", "4111 1111 1111 1111 9"},
		{"number", "378282246310005999", "3782 822463 10005"},
		{"number", "55555555555544449", "5555 5555 5555 4444"},
		{"number", "4111111111111111" + strings.Repeat(kb.ArrowLeft, 10) + kb.Backspace + "9", "4111 1119 1111 1111"},
		{"number", "41111" + strings.Repeat(kb.Backspace, 3) + "2", "412"},
		{"expiry", "0330", "03 / 30"},
		{"expiry", "3/30", "03 / 30"},
		{"expiry", "4", "04 / "},
		{"expiry", "03203", "03 / 203"},
		{"expiry", "032030", "03 / 30"},
		{"expiry", "0330" + strings.Repeat(kb.Backspace, 4), ""},
		{"expiry", "12" + kb.Backspace + kb.Backspace, "1"},
		{"cvv", "12345", "123"},
	} {
		w.open(url)
		w.focus("#" + c.field)
		w.keys(c.typed)
		if got := w.value("#" + c.field); got != c.shown {
			t.Errorf("%s: %q is shown as %q, want %q", c.field, c.typed, got, c.shown)
		}
	}
	w.open(url)
	w.fill("378282246310005", goodThrough, "12345", "Ada")
	if brand, hint, cvv := w.text("#brand"), w.text("#cvv-hint"), w.value("#cvv"); brand != "Amex" || hint != "4 digits on the front" || cvv != "1234" {
		t.Errorf("of an American Express card: %q, %q, %q", brand, hint, cvv)
	}
	for pasted, want := range map[string]string{"03/2030": "03 / 30", "2030-03": "03 / 30", "3 / 30": "03 / 30", "12/30": "12 / 30"} {
		got := eval[string](w, fmt.Sprintf(`(() => { const f = document.querySelector("#expiry"); f.value = %q;
			f.dispatchEvent(new InputEvent("input", {inputType: "insertReplacementText"})); return f.value })()`, pasted))
		if got != want {
			t.Errorf("%q filled in becomes %q, want %q", pasted, got, want)
		}
	}
}

// testMistakes: each is said beside its field and to a screen reader, and nothing is sent.
func (s till) testMistakes(t *testing.T) {
	w := s.browser.tab(t, 390)
	url, _ := s.session(t, nil)
	w.open(url)
	w.click("#pay")
	wants := func(problems map[string]string) {
		t.Helper()
		for field, want := range problems {
			got := eval[string](w, fmt.Sprintf(`(() => { const f = document.getElementById(%q);
				const said = f.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).textContent).at(-1);
				return (f.ariaInvalid === "true") + " " + said })()`, field))
			if got != fmt.Sprint(want != "")+" "+want {
				t.Errorf("%s: %q, want %q", field, got, want)
			}
		}
	}
	wants(map[string]string{
		"number": "Enter the card number.", "expiry": "Enter the expiry date.", "cvv": "Enter the security code.", "name": "Enter the name on the card.",
	})
	if got := eval[string](w, `document.activeElement.id`); got != "number" {
		t.Errorf("the focus is on %q", got)
	}
	if got := w.text("#announcer"); !strings.Contains(got, "Enter the security code.") {
		t.Errorf("a screen reader hears %q", got)
	}
	w.picture("form-errors-390")
	w.fill("4111111111111112", "0125", "12", "Ada")
	w.keys(kb.Enter)
	wants(map[string]string{
		"number": "Check the card number: a digit seems to be wrong.", "expiry": "The card has expired.", "cvv": "The security code has 3 digits.", "name": "",
	})
	w.focus("#number")
	w.keys(kb.End + kb.Backspace + "1")
	wants(map[string]string{"number": ""})
	if calls := w.sent("POST", "/"); len(calls) > 0 {
		t.Errorf("%d calls were made", len(calls))
	}
}

// testToken: the token is in no address that the browser keeps, and a reload finds the page again.
func (s till) testToken(t *testing.T) {
	w := s.browser.tab(t, 1280)
	url, token := s.session(t, nil)
	w.open(url)
	for range 2 {
		if got := eval[string](w, `location.href`); got != s.API+"/checkout" {
			t.Errorf("the address is %s", got)
		}
		if got := eval[bool](w, `document.documentElement.outerHTML.includes(`+fmt.Sprintf("%q", token)+`)`); got {
			t.Error("the page holds the token")
		}
		w.reload()
	}
	if got := w.text("#amount"); got != "€109.90" {
		t.Errorf("after a reload the page shows %s", got)
	}
	for _, r := range w.sent("GET", "/") {
		if referrer := r.Headers["Referer"]; referrer != nil && referrer != "" {
			t.Errorf("%s learns where the browser was: %v", r.URL, referrer)
		}
		if !strings.HasPrefix(r.URL, s.API) {
			t.Errorf("the page loads %s", r.URL)
		}
	}
}

// testBrokenLinks: a page says so in words.
func (s till) testBrokenLinks(t *testing.T) {
	empty, _ := s.session(t, map[string]any{"order": nil})
	for address, says := range map[string]string{
		s.API + "/checkout?clientToken=no.such.token":           "This payment link has expired",
		s.API + "/checkout":                                     "This payment link is not complete",
		s.API + "/checkout/challenge?clientToken=no.such.token": "This check is over",
		s.API + "/checkout/assets/1/none.js":                    "There is nothing here",
		empty:                                                   "This payment is not ready",
	} {
		w := s.browser.tab(t, 390, "the server responded with a status of 40")
		w.load(address)
		w.untilText("main", says)
	}
}
