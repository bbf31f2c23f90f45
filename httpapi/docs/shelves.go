package docs

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
)

// shelf is a part of the contents, which stand beside every page. Links is made once for all pages.
type shelf struct {
	Name  string
	Links template.HTML
	Open  bool
	kind  string // the pages that open the shelf
}

// fillShelves makes the links of the contents.
func (s *site) fillShelves() error {
	type list struct {
		name, kind, template string
		links                any
	}
	lists := []list{{"Guides", "guide", "guideShelf", s.Guides}}
	for _, g := range s.Groups {
		lists = append(lists, list{g.Name, "call", "callShelf", g.Calls})
	}
	lists = append(lists,
		list{"Errors", "errors", "errorShelf", s.Kinds},
		list{"Webhooks", "webhooks", "webhookShelf", s.Webhooks},
		list{"Events for analysts", "events", "eventShelf", s.Events},
	)
	for _, l := range lists {
		var b bytes.Buffer
		if err := s.templates.ExecuteTemplate(&b, l.template, l.links); err != nil {
			return fmt.Errorf("docs: the contents: %w", err)
		}
		s.shelves = append(s.shelves, shelf{Name: l.name, Links: template.HTML(b.String()), kind: l.kind}) //nolint:gosec // made by html/template
	}
	return nil
}

// Shelves returns the contents beside the page: the page's shelf is open, and its link is marked as
// the current page.
func (p page) Shelves() []shelf {
	all := append([]shelf(nil), p.shelves...)
	for i := range all {
		if !p.opens(all[i]) {
			continue
		}
		link := `<a href="` + template.HTMLEscapeString(p.Path) + `"`
		all[i].Open = true
		all[i].Links = template.HTML(strings.Replace(string(all[i].Links), link+`>`, link+` aria-current="page">`, 1)) //nolint:gosec // as before
	}
	return all
}

// opens reports whether a shelf is open beside the page. The first page opens the guides.
func (p page) opens(s shelf) bool {
	if c, is := p.View.(*call); is {
		return s.kind == "call" && s.Name == c.Tags[0]
	}
	return s.kind == p.Kind || p.Kind == "home" && s.kind == "guide"
}
