package checkout

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"payledger/domain"
)

func newPages(t *testing.T, frameAncestors ...string) *Pages {
	t.Helper()
	p, err := New(frameAncestors)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hostile is a text that a merchant or a customer could send.
const hostile = `"><script>alert(1)</script><img src=x>`

// every returns all pages, filled with hostile texts.
func every(t *testing.T, p *Pages) map[string]Document {
	t.Helper()
	quantity := int64(2)
	order := &domain.Order{
		LineItems: []domain.LineItem{{Name: hostile, Amount: 10, Quantity: &quantity, TaxAmount: 1}},
		Fees:      []domain.Fee{{Description: hostile, Amount: 2}}, Shipping: &domain.Shipping{MethodName: hostile, Amount: new(domain.Amount(3))},
	}
	saved := []SavedCard{{Token: "tok", Network: domain.NetworkAmex, Last4: "0005", ExpirationMonth: "03", ExpirationYear: "2030"}}
	made := map[string]Document{}
	add := func(name string, d Document, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(name, err)
		}
		made[name] = d
	}
	d, err := p.Payment(english, Payment{
		Merchant: hostile, Amount: 1234, Currency: "EUR", OrderID: hostile, Order: order, Saved: saved, Sandbox: true,
		ReturnURL: "javascript:alert(1)", PaymentID: hostile,
	})
	add("payment", d, err)
	d, err = p.Challenge(english, Challenge{Merchant: hostile, Amount: 1, Currency: "JPY", Last4: hostile})
	add("challenge", d, err)
	d, err = p.Leave(english, "https://bank.example/check?"+hostile)
	add("leave", d, err)
	d, err = p.Return(english)
	add("return", d, err)
	d, err = p.Restore(english)
	add("restore", d, err)
	d, err = p.ChallengeOver(english)
	add("challenge over", d, err)
	for _, n := range []Notice{Expired, Incomplete, Missing, Broken} {
		d, err = p.Notice(english, http.StatusBadRequest, n)
		add(n.Title, d, err)
	}
	return made
}

// TestOldestMonth checks that the page has the oldest month of expiry that the service takes: its
// script knows no other (D12).
func TestOldestMonth(t *testing.T) {
	d, err := newPages(t).Payment(english, Payment{OldestMonth: domain.OldestMonth(time.Date(2026, 12, 1, 11, 59, 59, 0, time.UTC))})
	if err != nil || !strings.Contains(string(d.Body), ` data-oldest="2026-11"`) {
		t.Errorf("%v %s", err, d.Body)
	}
	if script, err := os.ReadFile("assets/card.js"); err != nil || strings.Contains(string(script), "Date(") {
		t.Errorf("%v, or the script reads the browser's clock", err)
	}
}

var (
	inline   = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|="javascript:|<script(?:\s[^>]*)?>[^<]`)
	external = regexp.MustCompile(`(?i)(?:src|href|action)="?(?:[a-z]+:)?//`)
	named    = regexp.MustCompile(`<input id="[a-z]+"[^>]*\sname=`)
)

// TestPages checks that no page contains inline code or styles, loads anything from other sites, or
// has a card field that a form could send. Foreign text stays text.
func TestPages(t *testing.T) {
	for name, d := range every(t, newPages(t)) {
		text := string(d.Body)
		for _, pattern := range []*regexp.Regexp{inline, external, named} {
			if found := pattern.FindString(text); found != "" {
				t.Errorf("%s holds %q", name, found)
			}
		}
		if strings.Contains(text, "<img") || strings.Contains(text, "alert(1)</script>") {
			t.Errorf("%s takes a text for code:\n%s", name, text)
		}
		if !strings.HasPrefix(text, "<!doctype html>\n<html lang=\"en\" dir=\"ltr\"") || strings.Count(text, "<h1") == 0 || !strings.Contains(text, "<main") {
			t.Errorf("%s is no whole page:\n%s", name, text)
		}
	}
}

// TestLabels checks that every field has a label and a separate element for its error.
func TestLabels(t *testing.T) {
	text := string(every(t, newPages(t))["payment"].Body)
	fields := regexp.MustCompile(`<input id="([a-z]+)"[^>]*aria-describedby="([^"]+)"`).FindAllStringSubmatch(text, -1)
	if len(fields) != 4 {
		t.Fatalf("%d fields", len(fields))
	}
	for _, f := range fields {
		if !strings.Contains(text, `<label for="`+f[1]+`">`) {
			t.Errorf("%s has no label", f[1])
		}
		for id := range strings.FieldsSeq(f[2]) {
			if strings.Count(text, ` id="`+id+`"`) != 1 {
				t.Errorf("%s is described by %s, which is not there once", f[1], id)
			}
		}
	}
	for _, hint := range []string{"cc-number", "cc-exp", "cc-csc", "cc-name"} {
		if !strings.Contains(text, `autocomplete="`+hint+`"`) {
			t.Errorf("no field takes %s", hint)
		}
	}
}

// TestHeaders checks that every answer has the headers that restrict a browser to the page.
func TestHeaders(t *testing.T) {
	p := newPages(t)
	asset, _ := p.Asset("", "checkout.js")
	missing, err := p.Failure(english, http.StatusNotFound)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Document{every(t, p)["payment"], asset, missing} {
		w := httptest.NewRecorder()
		if err := p.Write(w, d); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
				"form-action 'self'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors 'none'",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", d.ContentType, name, got, want)
			}
		}
		if w.Code != d.Status {
			t.Errorf("answered %d, want %d", w.Code, d.Status)
		}
	}
}

// TestFrameAncestors: named origins may frame the page, and nothing else can be slipped into the
// policy.
func TestFrameAncestors(t *testing.T) {
	if got := newPages(t, "https://shop.example", "http://localhost:3000").ancestors; got != "https://shop.example http://localhost:3000" {
		t.Errorf("these may frame the page: %s", got)
	}
	for _, bad := range []string{
		"", "*", "shop.example", "https://", "https://shop.example/", "https://shop.example/pay", "https://*.example", "javascript:x",
		"https://a.example; script-src *", "https://a.example https://b.example", "https://u@a.example", "'self'", "data:",
	} {
		if p, err := New([]string{bad}); err == nil {
			t.Errorf("%q may frame the page: %s", bad, p.ancestors)
		}
	}
}

// TestEmbedded: a document that is shown in a frame of a shop's page allows that page's origin
// alone, and any page may load the script that shows it, and no other file.
func TestEmbedded(t *testing.T) {
	p := newPages(t)
	headers := func(d Document, err error) http.Header {
		t.Helper()
		w := httptest.NewRecorder()
		if err != nil || p.Write(w, d) != nil {
			t.Fatal(err)
		}
		return w.Header()
	}
	d, err := p.Payment(english, Payment{Embed: "https://shop.example"})
	if text := string(d.Body); !strings.Contains(text, `class="embedded" data-embed="https://shop.example"`) {
		t.Errorf("%s", text)
	}
	if got := headers(d.FramedBy("https://shop.example"), err).Get("Content-Security-Policy"); got != ownPolicy+"https://shop.example" {
		t.Errorf("in a shop's page: %s", got)
	}
	h := headers(d, err)
	if !strings.HasSuffix(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("by itself: %v", h)
	}
	h = headers(p.Script(), nil)
	if h.Get("Cross-Origin-Resource-Policy") != "cross-origin" || h.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("the script: %v", h)
	}
	script := string(p.Script().Body)
	for _, bad := range []string{"innerHTML", "eval(", ", \"*\")", "fetch(", "localStorage", "sessionStorage"} {
		if strings.Contains(script, bad) {
			t.Errorf("the script of a shop's page has %s", bad)
		}
	}
}

// TestAssets checks that each asset has a type, that browsers may cache it for ever under this
// release's address, and never under another address.
func TestAssets(t *testing.T) {
	p := newPages(t)
	err := fs.WalkDir(assetFiles, "assets", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		now, known := p.Asset(p.assets.Version, d.Name())
		old, _ := p.Asset("0123456789abcdef", d.Name())
		if !known || now.ContentType == "" || now.Cache != "public, max-age=31536000, immutable" || old.Cache != "no-store" {
			t.Errorf("%s: %v %q %q %q", path, known, now.ContentType, now.Cache, old.Cache)
		}
		if external.Match(now.Body) || strings.Contains(string(now.Body), "innerHTML") {
			t.Errorf("%s loads from elsewhere, or makes code of text", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, known := p.Asset(p.assets.Version, "../doc.go"); known {
		t.Error("a file outside is served")
	}
}

// TestTotals checks that the lines of the page add up to the amount (D4).
func TestTotals(t *testing.T) {
	three := int64(3)
	v := Payment{Currency: "EUR", Order: &domain.Order{
		LineItems: []domain.LineItem{{Name: "Pen", Amount: 500, Quantity: &three, DiscountAmount: 100, TaxAmount: 38}, {ItemID: "gift", Amount: 0}},
		Fees:      []domain.Fee{{Amount: 25}}, Shipping: &domain.Shipping{Amount: new(domain.Amount(490))},
	}}
	var got []string
	for _, l := range v.Lines() {
		got = append(got, l.Name+" "+Money(l.Amount, "EUR"))
	}
	if want := "Pen €14.00, gift €0.00, Tax €0.38, Shipping €4.90, Fee €0.25"; strings.Join(got, ", ") != want {
		t.Errorf("the page lists %v, want %s", got, want)
	}
	if free := action(english, Payment{Currency: "EUR"}); free != "Verify card" {
		t.Errorf("an amount of 0: %q", free)
	}
}

// TestTestCards: cards to try are offered only on request, and are of the contract's table (D13).
func TestTestCards(t *testing.T) {
	contract, err := os.ReadFile("../CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []bool{true, false} {
		d, err := newPages(t).Payment(english, Payment{Merchant: "Kiosk", Amount: 1234, Currency: "EUR", OrderID: "o", Sandbox: true, TestCards: wanted})
		if err != nil {
			t.Fatal(err)
		}
		for _, card := range TestCards {
			if offered := strings.Contains(string(d.Body), card.Number) || strings.Contains(string(d.Body), card.Grouped()); offered != wanted {
				t.Errorf("%s is offered: %v, want %v", card.Outcome, offered, wanted)
			}
			if !strings.Contains(string(contract), card.Number) || strings.ReplaceAll(card.Grouped(), " ", "") != card.Number {
				t.Errorf("%s is no card of the contract", card.Number)
			}
		}
	}
}
