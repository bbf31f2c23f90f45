package checkout

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestBrandColours: with every colour of a grid, text on the button, also under the pointer, and
// links on every ground of the page have a contrast of 4.5 at least, in light and dark.
func TestBrandColours(t *testing.T) {
	t.Parallel()
	const steps = 17
	for n := range steps * steps * steps {
		part := func(i int) float64 { return float64(i%steps) / (steps - 1) }
		brand := rgb{part(n), part(n / steps), part(n / steps / steps)}.mixed(white, 0)
		light, dark := palettes(brand)
		for name, p := range map[string]palette{"light": light, "dark": dark} {
			grounds := map[string][]rgb{"light": lightGrounds, "dark": darkGrounds}[name]
			if p.button != brand || contrast(p.ink, p.button) < legible || contrast(p.ink, p.strong) < legible {
				t.Fatalf("%s in %s: button %s, %s, text %s", brand, name, p.button, p.strong, p.ink)
			}
			for _, ground := range grounds {
				if contrast(p.accent, ground) < legible {
					t.Fatalf("%s in %s: a link %s on %s has a contrast of %.2f", brand, name, p.accent, ground, contrast(p.accent, ground))
				}
			}
		}
	}
	if got := contrast(white, black); got != 21 {
		t.Errorf("black on white has a contrast of %v", got)
	}
}

// TestBrandGrounds: the grounds that links are measured on are those of the stylesheet.
func TestBrandGrounds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("assets/checkout.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, _ := strings.Cut(string(text), "@media (prefers-color-scheme: dark)")
	for i, name := range []string{"--ground", "--sheet", "--note"} {
		if !strings.Contains(light, name+": "+lightGrounds[i].String()+";") || !strings.Contains(dark, name+": "+darkGrounds[i].String()+";") {
			t.Errorf("%s has another colour in checkout.css", name)
		}
	}
}

// TestBrandAsset: the stylesheet of a colour is served under every version; another name is no
// stylesheet, and a page with a brand loads its own.
func TestBrandAsset(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	d, known := p.Asset("0123456789abcdef", "brand-ffd400.css")
	if !known || d.Status != http.StatusOK || !strings.Contains(string(d.Body), "--button: #ffd400; --button-ink: #000000;") {
		t.Errorf("%v %s", known, d.Body)
	}
	for _, name := range []string{"brand-ffd40.css", "brand-FFD400.css", "brand-ffd400.css.js", "brand-}*{.css"} {
		if _, known := p.Asset("0123456789abcdef", name); known {
			t.Errorf("%s is a stylesheet", name)
		}
	}
	d, err := p.Payment(english, Payment{Brand: Brand{Color: "#ffd400", Logo: "/checkout/logos/a/b"}, Merchant: "Kiosk"})
	if err != nil || !strings.Contains(string(d.Body), `/brand-ffd400.css">`) || !strings.Contains(string(d.Body), `<img class="logo" src="/checkout/logos/a/b" alt="">`) {
		t.Errorf("%v\n%s", err, d.Body)
	}
	if d, err = p.Payment(english, Payment{Brand: Brand{Color: "red;}"}}); err != nil || strings.Contains(string(d.Body), "brand-") {
		t.Errorf("%v\n%s", err, d.Body)
	}
}
