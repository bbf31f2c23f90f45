package frame

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"payledger/httpapi/style"
)

// Config has what pages need beside the API.
type Config struct {
	API         API
	Environment string // account.Sandbox or account.Production
	Now         func() time.Time
}

// Frame renders the pages of all screens in one layout.
type Frame struct {
	Config
	pages  map[string]func() (*template.Template, error) // by file name without .html; made at the first use
	assets style.Files
}

// Templates are the parsed templates of all screens. They are never changed, and never executed.
type Templates struct {
	pages  map[string]*template.Template
	assets style.Files
}

// Parse parses the templates of all screens: each set has files *.html, which define "content". Two
// files of one name are an error.
func Parse(sets ...fs.FS) (*Templates, error) {
	t := &Templates{pages: map[string]*template.Template{}}
	var err error
	if t.assets, err = style.Load(assetFiles, "assets", true); err != nil {
		return nil, err
	}
	base, err := template.New("layout.html").Funcs((&Frame{}).words()).ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("frame: %w", err)
	}
	if err := t.parse(base, ownPages, "pages/templates/*.html"); err != nil {
		return nil, err
	}
	for _, set := range sets {
		if err := t.parse(base, set, "templates/*.html"); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Templates) parse(base *template.Template, set fs.FS, pattern string) error {
	files, err := fs.Glob(set, pattern)
	if err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if t.pages[name] != nil {
			return fmt.Errorf("frame: two pages are named %s", name)
		}
		page, err := base.Clone()
		if err == nil {
			_, err = page.ParseFS(set, file)
		}
		if err != nil {
			return fmt.Errorf("frame: %s: %w", file, err)
		}
		t.pages[name] = page
	}
	return nil
}

// New returns a frame with the templates of all screens.
func New(c Config, t *Templates) *Frame {
	f := &Frame{Config: c, pages: map[string]func() (*template.Template, error){}, assets: t.assets}
	for name, page := range t.pages {
		f.pages[name] = sync.OnceValues(func() (*template.Template, error) {
			own, err := page.Clone()
			if err != nil {
				return nil, fmt.Errorf("frame: %s: %w", name, err)
			}
			return own.Funcs(f.words()), nil
		})
	}
	return f
}

// Page is the content of one page.
type Page struct {
	Name   string // of its template
	Title  string
	Nav    string // the address in the navigation that the page belongs to
	Status int    // 0: 200
	Live   bool   // the page's title and its parts data-live are refreshed while it is open
	Charts bool   // the page has charts
	Parts  bool   // the page has a file that is downloaded in parts
	Said   string // the message after an action; "": the usual message
	Data   any
}

type view struct {
	Page
	User        string
	Role        string
	SignedIn    bool
	Merchant    string
	Environment string
	Production  bool
	Assets      string
	Done        Message // about what was done; without a text there is none
	Query       string  // of the search field
	Nav         []navItem
	Now         time.Time
	Path        string // of this page, with its query
}

type navItem struct {
	Path, Text string
	Key        string // after g, it opens the page; "" for none
	Active     bool
}

var navigation = []navItem{
	{Path: "/dashboard", Text: "Home", Key: "h"},
	{Path: "/dashboard/statistics", Text: "Statistics", Key: "s"},
	{Path: "/dashboard/payments", Text: "Payments", Key: "p"},
	{Path: "/dashboard/approvals", Text: "Approvals", Key: "o"},
	{Path: "/dashboard/customers", Text: "Customers", Key: "c"},
	{Path: "/dashboard/disputes", Text: "Disputes", Key: "d"},
	{Path: "/dashboard/workflows", Text: "Workflows", Key: "w"},
	{Path: "/dashboard/deliveries", Text: "Webhook deliveries", Key: "e"},
	{Path: "/dashboard/endpoints", Text: "Webhook endpoints"},
	{Path: "/dashboard/signing-secret", Text: "Signing secret"},
	{Path: "/dashboard/api-keys", Text: "API keys"},
	{Path: "/dashboard/processors", Text: "Processors and routing"},
	{Path: "/dashboard/requests", Text: "API requests"},
	{Path: "/dashboard/reconciliation", Text: "Reconciliation"},
	{Path: "/dashboard/settings", Text: "Settings"},
	{Path: "/dashboard/users", Text: "Users"},
	{Path: "/dashboard/sessions", Text: "Sessions"},
	{Path: "/dashboard/audit-log", Text: "Audit log", Key: "a"},
}

// Show writes a page for a signed-in user.
func (v *Visit) Show(p Page) error {
	out := v.frame.view(p, v.Request)
	out.SignedIn, out.User, out.Role = true, v.User.Name, string(v.User.Role)
	if p.Said != "" && out.Done.Text != "" {
		out.Done.Text = p.Said
	}
	out.Merchant = v.Merchant.Settings.DisplayName
	if out.Merchant == "" {
		out.Merchant = v.Merchant.Name
	}
	for _, item := range navigation {
		item.Active = item.Path == p.Nav
		out.Nav = append(out.Nav, item)
	}
	return v.frame.write(v.Writer, out)
}

// ShowOutside writes a page for somebody who is not signed in.
func (f *Frame) ShowOutside(w http.ResponseWriter, r *http.Request, p Page) error {
	return f.write(w, f.view(p, r))
}

func (f *Frame) view(p Page, r *http.Request) view {
	return view{
		Page: p, Environment: f.Environment, Production: f.Environment == "production", Assets: pathAssets + f.assets.Version,
		Done: Messages[r.URL.Query().Get("done")], Query: r.URL.Query().Get("q"), Now: f.Now().UTC(), Path: r.URL.RequestURI(),
	}
}

func (f *Frame) write(w http.ResponseWriter, v view) error {
	made := f.pages[v.Name]
	if made == nil {
		return fmt.Errorf("frame: there is no page %s", v.Name)
	}
	page, err := made()
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := page.ExecuteTemplate(&body, "layout.html", v); err != nil {
		return fmt.Errorf("frame: %s: %w", v.Name, err)
	}
	f.headers(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.Status == 0 {
		v.Status = http.StatusOK
	}
	w.WriteHeader(v.Status)
	if _, err := w.Write(straight(body.Bytes())); err != nil {
		return Gone{err}
	}
	return nil
}

// Gone is the error of a browser that went away before it had the whole answer.
type Gone struct{ Err error }

// Error implements error.
func (g Gone) Error() string { return g.Err.Error() }

// contentPolicy allows files of this service only. The script's one Trusted Types policy parses
// pages of this service.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dashboard"

func (f *Frame) headers(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
}

// Visit returns the visit of a signed-in user.
func (f *Frame) Visit(w http.ResponseWriter, r *http.Request, by Identity) *Visit {
	return &Visit{Identity: by, Ctx: r.Context(), Request: r, Writer: w, frame: f}
}
