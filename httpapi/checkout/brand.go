package checkout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/httpapi/style"
)

// Brand is how a shop shows itself on the payment page (D20).
type Brand struct {
	Color string // #rrggbb; "": the page's own
	Logo  string // the address of the logo; "": none
}

// BrandOf returns the brand in an account's settings.
func BrandOf(id domain.AccountID, s account.Settings) Brand {
	return Brand{Color: s.BrandColor, Logo: LogoAddress(id, s.Logo)}
}

// LogoAddress returns the address of an account's logo, which is a PNG file in base64: it changes
// with the logo. It is "" without a logo.
func LogoAddress(id domain.AccountID, logo string) string {
	if logo == "" {
		return ""
	}
	hash := sha256.Sum256([]byte(logo))
	return PathLogos + "/" + url.PathEscape(string(id)) + "/" + hex.EncodeToString(hash[:8]) + ".png"
}

// Stylesheet returns the name of the file with the brand's colours; "" if it has none.
func (b Brand) Stylesheet() string {
	if _, is := parseColor(b.Color); !is {
		return ""
	}
	return "brand-" + b.Color[1:] + ".css"
}

// rgb is a colour in sRGB. Each part is between 0 and 1.
type rgb [3]float64

func parseColor(text string) (c rgb, is bool) {
	if len(text) != 7 || text[0] != '#' {
		return c, false
	}
	for i := range c {
		n, err := strconv.ParseUint(text[1+2*i:3+2*i], 16, 8)
		if err != nil {
			return c, false
		}
		c[i] = float64(n) / 255
	}
	return c, true
}

// String returns the colour as #rrggbb.
func (c rgb) String() string {
	return fmt.Sprintf("#%02x%02x%02x", int(math.Round(c[0]*255)), int(math.Round(c[1]*255)), int(math.Round(c[2]*255)))
}

var white, black = rgb{1, 1, 1}, rgb{}

// mixed returns the colour with a share of another.
func (c rgb) mixed(other rgb, share float64) (m rgb) {
	for i := range c {
		m[i] = c[i] + (other[i]-c[i])*share
	}
	m, _ = parseColor(m.String()) // the colour that the page gets
	return m
}

// luminance is the relative luminance of WCAG 2.
func (c rgb) luminance() float64 {
	linear := func(v float64) float64 {
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// contrast is the contrast of two colours by WCAG 2, between 1 and 21.
func contrast(a, b rgb) float64 {
	one, other := a.luminance(), b.luminance()
	return (math.Max(one, other) + 0.05) / (math.Min(one, other) + 0.05)
}

// legible is the least contrast of text (WCAG 2, AA).
const legible = 4.5

// palette has the colours of a brand in light or dark: the button, its text, the button under the
// pointer, and the colour of links and borders.
type palette struct{ button, ink, strong, accent rgb }

// Grounds of text in checkout.css: --ground, --sheet and --note, light and dark.
var (
	lightGrounds = []rgb{mustColor("#f4f5f7"), mustColor("#ffffff"), mustColor("#e9eefb")}
	darkGrounds  = []rgb{mustColor("#101216"), mustColor("#191c22"), mustColor("#1f2940")}
)

func mustColor(text string) rgb {
	c, is := parseColor(text)
	if !is {
		panic("checkout: " + text + " is no colour")
	}
	return c
}

// palettes returns the colours of a brand. The button has the brand's colour, with black or white
// text: one of them is always legible. Links have the nearest shade that is legible on the page.
func palettes(brand rgb) (light, dark palette) {
	p := palette{button: brand, ink: white, strong: brand.mixed(black, 0.15)}
	if contrast(brand, black) > contrast(brand, white) {
		p.ink, p.strong = black, brand.mixed(white, 0.2)
	}
	light, dark = p, p
	light.accent, dark.accent = shade(brand, black, lightGrounds), shade(brand, white, darkGrounds)
	return light, dark
}

// shade mixes a colour with black or white until it is legible on all grounds.
func shade(c, with rgb, grounds []rgb) rgb {
	for step := range 101 {
		mixed, enough := c.mixed(with, float64(step)/100), true
		for _, ground := range grounds {
			enough = enough && contrast(mixed, ground) >= legible
		}
		if enough {
			return mixed
		}
	}
	return with
}

func (p palette) css() string {
	return fmt.Sprintf("--button: %s; --button-ink: %s; --button-strong: %s; --accent: %s;", p.button, p.ink, p.strong, p.accent)
}

var brandFile = regexp.MustCompile(`^brand-([0-9a-f]{6})\.css$`)

// brandAsset returns the stylesheet with a brand's colours; false if the name is not one's.
func brandAsset(name string) (Document, bool) {
	m := brandFile.FindStringSubmatch(name)
	if m == nil {
		return Document{}, false
	}
	light, dark := palettes(mustColor("#" + m[1]))
	text := ":root { " + light.css() + " }\n@media (prefers-color-scheme: dark) { :root { " + dark.css() + " } }\n"
	return Document{Status: http.StatusOK, ContentType: style.ContentType(name), Cache: style.KeepForEver, Body: []byte(text)}, true
}

// Logo returns a shop's logo, a PNG file, at the address of its content.
func Logo(file []byte) Document {
	return Document{Status: http.StatusOK, ContentType: "image/png", Cache: style.KeepForEver, Body: file}
}
