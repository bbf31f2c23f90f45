package docs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"payledger/httpapi/style"
)

//go:embed assets
var assetFiles embed.FS

//go:embed templates
var templateFiles embed.FS

//go:embed answers
var answerFiles embed.FS

//go:embed errors
var errorFiles embed.FS

const notFound = "404"

type site struct {
	Config
	Title, Version string
	Intro          template.HTML
	Groups         []group
	Kinds          []*errorKind
	Webhooks       []webhook
	Events         []eventGroup
	Event          string // an example
	Guides         []guide
	Assets         string

	templates *template.Template
	markdown  *markdown
	calls     []*call
	shelves   []shelf
	files     map[string]maker
}

// wordEnd is a place where a long name may break: after a point, and before a capital.
var wordEnd = regexp.MustCompile(`([a-z])([A-Z])|([._])`)

func breaks(name string) template.HTML {
	return template.HTML(wordEnd.ReplaceAllString(template.HTMLEscapeString(name), "$1$3<wbr>$2")) //nolint:gosec // escaped before
}

type group struct {
	tag
	Calls []*call
}

// ID is the anchor of the group.
func (g group) ID() string { return strings.ToLower(g.Name) }

type page struct {
	*site
	Path, Heading, Kind string
	View                any
}

func build(c Config) (map[string]maker, error) {
	s := &site{Config: c, files: map[string]maker{}}
	for _, step := range []func() error{s.loadAssets, s.parseTemplates, s.loadOpenAPI, s.loadRest, s.fillShelves, s.addPages, s.addScripts, s.addPostman} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return s.files, nil
}

func (s *site) loadAssets() error {
	files, err := style.Load(assetFiles, "assets", true)
	if err != nil {
		return err
	}
	s.Assets = Path + "/assets/" + files.Version
	for name, content := range files.Contents {
		s.add(s.Assets+"/"+name, style.ContentType(name), style.KeepForEver, content)
	}
	return nil
}

// add adds a file with a known content.
func (s *site) add(path, contentType, cache string, body []byte) {
	s.files[path] = sync.OnceValues(func() (File, error) { return pack(contentType, cache, body) })
}

func (s *site) parseTemplates() (err error) {
	s.templates = template.New("docs").Funcs(template.FuncMap{
		"md":     func(text string) (template.HTML, error) { return s.markdown.html(text) },
		"code":   func(text, language string) code { return code{text, language, languages[language]} },
		"breaks": breaks,
	})
	s.markdown = newMarkdown(s.templates)
	_, err = s.templates.ParseFS(templateFiles, "templates/*.html")
	return err
}

func (s *site) loadOpenAPI() error {
	d, err := parse(s.OpenAPI)
	if err != nil {
		return err
	}
	s.Title, s.Version = d.Info.Title, d.Info.Version
	if s.Intro, err = s.markdown.html(d.Info.Description); err != nil {
		return err
	}
	if s.Kinds, err = d.kinds(); err != nil {
		return err
	}
	if s.calls, err = d.calls(s.Kinds, s.PublicURL); err != nil {
		return err
	}
	for _, t := range d.Tags {
		g := group{tag: t}
		for _, c := range s.calls {
			if len(c.Tags) > 0 && c.Tags[0] == t.Name {
				g.Calls = append(g.Calls, c)
			}
		}
		s.Groups = append(s.Groups, g)
	}
	for _, k := range s.Kinds {
		k.Suggestion = s.Suggestions[k.ID]
		k.Answer = s.recorded(errorFiles, "errors/"+k.ID+".json")
	}
	for _, c := range s.calls {
		c.Answer = s.recorded(answerFiles, "answers/"+c.ID+".txt")
		if c.Answer == "" {
			c.Answer = s.recorded(answerFiles, "answers/"+c.ID+".json")
		}
	}
	return nil
}

const exampleURL = "http://127.0.0.1:8080"

// recorded returns a recorded answer with this service's address, indented; "" if there is none.
func (s *site) recorded(files embed.FS, name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		return ""
	}
	own := strings.ReplaceAll(strings.TrimSpace(string(text)), exampleURL, strings.TrimSuffix(s.PublicURL, "/"))
	if path.Ext(name) == ".json" {
		return pretty(own)
	}
	return own
}

func (s *site) loadRest() error {
	d, err := parse(s.AsyncAPI)
	if err != nil {
		return err
	}
	s.Events = d.events()
	s.Event = firstEvent(s.recorded(answerFiles, "answers/listEvents.json"))
	if s.Webhooks, err = webhooks(); err != nil {
		return err
	}
	s.Guides, err = guides(s.markdown, s.PublicURL)
	return err
}

func (s *site) addPages() error {
	pages := []page{
		{s, Path, "payledger documentation", "home", nil},
		{s, Path + "/errors", "Errors", "errors", nil},
		{s, Path + "/webhooks", "Webhooks", "webhooks", nil},
		{s, Path + "/events", "Events for analysts", "events", nil},
		{s, notFound, "This page does not exist", "missing", nil},
		{s, Home, "Payments, as a ledger", "landing", nil},
	}
	for _, g := range s.Guides {
		pages = append(pages, page{s, g.Address(), g.Title, "guide", g})
	}
	for _, c := range s.calls {
		pages = append(pages, page{s, c.Address(), c.Summary, "call", c})
	}
	for _, p := range pages {
		s.files[p.Path] = sync.OnceValues(p.file)
	}
	return nil
}

// file makes the page.
func (p page) file() (File, error) {
	var b bytes.Buffer
	layout, cache := "layout", cachePages
	if p.Path == Home { // other clients get another answer there
		layout, cache = "landing", cacheNever
	}
	if err := p.templates.ExecuteTemplate(&b, layout, p); err != nil {
		return File{}, fmt.Errorf("docs: %s: %w", p.Path, err)
	}
	file, err := pack("text/html; charset=utf-8", cache, b.Bytes())
	file.negotiated = p.Path == Home
	if p.Path == notFound {
		file.Status = http.StatusNotFound
	}
	return file, err
}

// addScripts adds the files that the reader of a guide runs.
func (s *site) addScripts() error {
	for _, name := range []string{"check.py"} {
		text, err := guideFiles.ReadFile("guides/" + name)
		if err != nil {
			return fmt.Errorf("docs: %w", err)
		}
		s.add(Path+"/guides/"+name, "text/plain; charset=utf-8", cachePages, text)
	}
	return nil
}

// Content renders the page's own part.
func (p page) Content() (template.HTML, error) {
	var b bytes.Buffer
	err := p.templates.ExecuteTemplate(&b, p.Kind, p)
	return template.HTML(b.String()), err //nolint:gosec // made by html/template
}
