package checkout

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"payledger/httpapi/checkout/locale"
	"payledger/httpapi/style"
)

//go:embed templates
var templateFiles embed.FS

// Paths of the pages and of the files that they load (D12).
const (
	PathPayment   = "/checkout"
	PathChallenge = "/checkout/challenge"
	PathReturn    = "/checkout/challenge/return"
	PathAssets    = "/checkout/assets"
	PathLogos     = "/checkout/logos"
	PathScript    = "/checkout/" + scriptName // the script of a shop's page
)

// scriptName is the script with which a shop's page shows the payment page in a frame.
const scriptName = "payledger-checkout.js"

// keepShortly is the Cache-Control of the script, whose address stays.
const keepShortly = "public, max-age=300"

// Document is an answer for a browser: a page, or a file that a page loads.
type Document struct {
	Status      int
	ContentType string
	Cache       string // Cache-Control
	Body        []byte

	ancestors string // the value of frame-ancestors; "": as configured
	shared    bool   // pages of other origins may load it
}

// FramedBy allows the pages of an origin, and of no other, to show the document in a frame.
func (d Document) FramedBy(origin string) Document {
	d.ancestors = origin
	return d
}

// Pages makes the pages.
type Pages struct {
	*content
	ancestors string // the value of frame-ancestors
}

// content is the same for all Pages of a process.
type content struct {
	locales   *locale.Locales
	templates map[place]*template.Template // each with the layout
	words     map[string]string            // JSON of the scripts' messages, by language
	assets    style.Files
}

// place is a page in a language.
type place struct{ tag, file string }

var scripts = map[string]string{
	"pay.html": "checkout.js", "challenge.html": "challenge.js", "restore.html": "restore.js", "notice.html": "",
	"leave.html": "leave.js", "return.html": "return.js",
}

// New prepares the pages. Only the origins of frameAncestors may show them in a frame.
func New(frameAncestors []string) (*Pages, error) {
	ancestors, err := ancestorsOf(frameAncestors)
	if err != nil {
		return nil, err
	}
	c, err := loaded()
	if err != nil {
		return nil, fmt.Errorf("checkout: %w", err)
	}
	return &Pages{content: c, ancestors: ancestors}, nil
}

// loaded reads the templates once in a process: they are parsed in each language.
var loaded = sync.OnceValues(func() (*content, error) {
	c := &content{templates: map[place]*template.Template{}, words: map[string]string{}}
	var err error
	if c.locales, err = locale.Load(); err != nil {
		return nil, err
	}
	if c.assets, err = style.Load(assetFiles, "assets", false); err != nil {
		return nil, fmt.Errorf("assets: %w", err)
	}
	messages := spoken(c.assets)
	for _, l := range c.locales.All() {
		words, err := json.Marshal(l.Words(messages))
		if err != nil {
			return nil, err
		}
		c.words[l.Tag] = string(words)
		for file := range scripts {
			c.templates[place{l.Tag, file}], err = template.New("layout.html").Funcs(functions(l)).ParseFS(templateFiles, "templates/layout.html", "templates/states.html", "templates/"+file)
			if err != nil {
				return nil, err
			}
		}
	}
	return c, nil
})

// Locale returns the language of a request: that of ?locale=, or else one that the browser takes.
func (p *Pages) Locale(r *http.Request) *locale.Locale {
	return p.locales.Choose(r.URL.Query().Get("locale"), r.Header.Get("Accept-Language"))
}

// said matches the messages of the scripts.
var said = regexp.MustCompile(`\b(?:t|say)\("([^"]+)"`)

// spoken returns the messages of all scripts.
func spoken(assets style.Files) (messages []string) {
	for name, body := range assets.Contents {
		if strings.HasSuffix(name, ".js") {
			for _, found := range said.FindAllSubmatch(body, -1) {
				messages = append(messages, string(found[1]))
			}
		}
	}
	slices.Sort(messages)
	return slices.Compact(messages)
}

func functions(l *locale.Locale) template.FuncMap {
	return template.FuncMap{
		"t":         l.Say,
		"shop":      func(v Payment, named, unnamed string) string { return shop(l, v, named, unnamed) },
		"action":    func(v Payment) string { return action(l, v) },
		"money":     l.Amount,
		"testCards": func() []TestCard { return TestCards },
	}
}

// shop returns a message with the shop's name, or another one if the shop has none.
func shop(l *locale.Locale, v Payment, named, unnamed string) string {
	if v.Merchant == "" {
		named = unnamed
	}
	return l.Say(named, "shop", string(v.Merchant), "total", l.Amount(v.Amount, v.Currency))
}

// action returns the label of the button. An amount of 0 only verifies the card (D5.9).
func action(l *locale.Locale, v Payment) string {
	if v.Amount == 0 {
		return l.Say("Verify card")
	}
	return l.Say("Pay {total}", "total", l.Amount(v.Amount, v.Currency))
}

type frame struct {
	Locale                       *locale.Locale
	Title, Assets, Script, Words string
	Brand                        string // the stylesheet of the shop's colours; "": none
	View                         any
}

func (p *Pages) render(l *locale.Locale, status int, file, title string, view any) (Document, error) {
	var body bytes.Buffer
	f := frame{Locale: l, Words: p.words[l.Tag], Title: title, Assets: PathAssets + "/" + p.assets.Version, Script: scripts[file], View: view}
	if branded, is := view.(interface{ Stylesheet() string }); is {
		f.Brand = branded.Stylesheet()
	}
	if err := p.templates[place{l.Tag, file}].ExecuteTemplate(&body, "layout.html", f); err != nil {
		return Document{}, fmt.Errorf("checkout: %s: %w", file, err)
	}
	return Document{Status: status, ContentType: "text/html; charset=utf-8", Cache: keepNever, Body: body.Bytes()}, nil
}

// Write answers a request with a document and its headers.
func (p *Pages) Write(w http.ResponseWriter, d Document) error {
	style.SetHeaders(w.Header(), d.ContentType, d.Cache, ownPolicy+cmp.Or(d.ancestors, p.ancestors))
	if d.shared {
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	w.Header().Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	w.WriteHeader(d.Status)
	_, err := w.Write(d.Body)
	return err
}
