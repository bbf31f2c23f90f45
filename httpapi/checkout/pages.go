package checkout

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"

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
)

// Document is an answer for a browser: a page, or a file that a page loads.
type Document struct {
	Status      int
	ContentType string
	Cache       string // Cache-Control
	Body        []byte
}

// Pages makes the pages.
type Pages struct {
	templates map[string]*template.Template // by file, each with the layout
	assets    style.Files
	policy    string
}

var scripts = map[string]string{
	"pay.html": "checkout.js", "challenge.html": "challenge.js", "restore.html": "restore.js", "notice.html": "",
	"leave.html": "leave.js", "return.html": "return.js",
}

// New prepares the pages. Only the origins of frameAncestors may show them in a frame.
func New(frameAncestors []string) (*Pages, error) {
	policy, err := policy(frameAncestors)
	if err != nil {
		return nil, err
	}
	p := &Pages{templates: map[string]*template.Template{}, policy: policy}
	if p.assets, err = style.Load(assetFiles, "assets", false); err != nil {
		return nil, fmt.Errorf("checkout: assets: %w", err)
	}
	for file := range scripts {
		p.templates[file], err = template.New("layout.html").Funcs(template.FuncMap{"testCards": func() []TestCard { return TestCards }}).ParseFS(templateFiles, "templates/layout.html", "templates/states.html", "templates/"+file)
		if err != nil {
			return nil, fmt.Errorf("checkout: %w", err)
		}
	}
	return p, nil
}

type frame struct {
	Title, Assets, Script string
	View                  any
}

func (p *Pages) render(status int, file, title string, view any) (Document, error) {
	var body bytes.Buffer
	f := frame{Title: title, Assets: PathAssets + "/" + p.assets.Version, Script: scripts[file], View: view}
	if err := p.templates[file].ExecuteTemplate(&body, "layout.html", f); err != nil {
		return Document{}, fmt.Errorf("checkout: %s: %w", file, err)
	}
	return Document{Status: status, ContentType: "text/html; charset=utf-8", Cache: keepNever, Body: body.Bytes()}, nil
}

// Write answers a request with a document and its headers.
func (p *Pages) Write(w http.ResponseWriter, d Document) error {
	style.SetHeaders(w.Header(), d.ContentType, d.Cache, p.policy)
	w.Header().Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	w.WriteHeader(d.Status)
	_, err := w.Write(d.Body)
	return err
}
