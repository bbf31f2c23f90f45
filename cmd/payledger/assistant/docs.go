package assistant

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"

	"payledger/httpapi"
	"payledger/httpapi/docs"
)

const mostFound = 20

// scheme is the beginning of a page's address as a resource; its path follows.
const scheme = "payledger:/"

type library struct{ load func() ([]entry, error) }

// newLibrary returns the documentation of this build, for a server at an address. Its texts are
// made when the first one is needed.
func newLibrary(address string) library {
	return library{sync.OnceValues(func() ([]entry, error) { return entries(httpapi.Documentation(address)) })}
}

func (s *server) addDocs(l library) {
	s.add(tool{
		Name: "search_docs", Title: "Find a page of the documentation",
		Description: "Finds pages of payledger's documentation, the best ones first: guides, a page for each call of the API, its errors, webhooks and events. Read one with read_docs.",
		InputSchema: textSchema("words", "what to find, in words: a call, an errorId, a kind of webhook, or a subject; without words all pages are listed"),
		call:        func(_ context.Context, in map[string]any) (string, error) { return ofText(in, "words", l.find) },
	})
	read := textSchema("path", "path of the page, as search_docs lists it, for example /docs/guides/webhooks or /docs/errors#MissingScope")
	read["required"] = []string{"path"}
	s.add(tool{
		Name: "read_docs", Title: "Read a page of the documentation", InputSchema: read,
		Description: "Returns a page of payledger's documentation, or a section of it, as Markdown with its examples.",
		call:        func(_ context.Context, in map[string]any) (string, error) { return ofText(in, "path", l.read) },
	})
	s.read = func(uri string) (string, error) { return l.read(strings.TrimPrefix(uri, scheme)) }
	s.resources = []resource{{
		URI: scheme + docs.Path, Name: "docs", Title: "payledger documentation", MIMEType: markdown, Description: "The first page: what every call has in common, and all calls.",
	}, {
		Template: scheme + docs.Path + "/{+page}", Name: "docs page", Title: "A page of payledger's documentation", MIMEType: markdown,
		Description: "Paths are those that search_docs lists, for example guides/webhooks or calls/refundPayment.",
	}}
}

// textSchema returns the schema of an input with one text.
func textSchema(name, description string) map[string]any {
	return map[string]any{
		"type": "object", "additionalProperties": false, "properties": map[string]any{name: map[string]any{"type": "string", "description": description}},
	}
}

// ofText returns the answer to the text of an argument.
func ofText(in map[string]any, name string, answer func(string) (string, error)) (string, error) {
	text, is := in[name].(string)
	if in[name] != nil && !is {
		return "", fmt.Errorf("%s must be a text", name)
	}
	return answer(text)
}

const markdown = "text/markdown"

// entries returns the pages and sections of the documentation, in the order of its contents.
func entries(d *docs.Docs) ([]entry, error) {
	first, err := d.Get(docs.Path)
	if err != nil {
		return nil, err
	}
	html, err := first.Body()
	if err != nil {
		return nil, err
	}
	listed, err := contents(html)
	if err != nil {
		return nil, err
	}
	all, pages := append([]entry{{path: docs.Path, title: "payledger documentation"}}, listed...), map[string]func() (page, error){}
	for i, e := range all {
		address, anchor, _ := strings.Cut(e.path, "#")
		if pages[address] == nil {
			pages[address] = sync.OnceValues(func() (page, error) { return readPage(d, address) })
		}
		all[i].text = sync.OnceValues(func() (string, error) {
			one, err := pages[address]()
			if err != nil {
				return "", err
			}
			text, err := one.text(anchor)
			if err != nil {
				return "", fmt.Errorf("%s: %w", e.path, err)
			}
			return text, nil
		})
	}
	return all, nil
}

func readPage(d *docs.Docs, address string) (page, error) {
	file, err := d.Get(address)
	if err != nil {
		return page{}, err
	}
	if file.Status != http.StatusOK {
		return page{}, fmt.Errorf("the documentation has no page %s", address)
	}
	html, err := file.Body()
	if err != nil {
		return page{}, err
	}
	return newPage(html)
}

func (l library) read(path string) (string, error) {
	all, err := l.load()
	if err != nil {
		return "", err
	}
	for _, e := range all {
		if e.path == path {
			return e.text()
		}
	}
	return "", fmt.Errorf("the documentation has no page %q; search_docs lists the paths, for example /docs/guides/webhooks", path)
}

// find lists the pages that fit the words best, a line each. A rare word counts more, and a word of
// the title more than one of the text.
func (l library) find(text string) (string, error) {
	all, err := l.load()
	if err != nil {
		return "", err
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	score, texts := make([]float64, len(all)), make([]string, len(all))
	for i, e := range all {
		if len(words) == 0 {
			break
		}
		if texts[i], err = e.text(); err != nil {
			return "", err
		}
		texts[i] = strings.ToLower(texts[i])
	}
	for _, word := range words {
		counts, pages := make([]float64, len(all)), 0.0
		for i, e := range all {
			if strings.Contains(strings.ToLower(e.find+" "+e.title), word) {
				counts[i] += 3
			}
			if strings.Contains(texts[i], word) {
				counts[i]++
			}
			if counts[i] > 0 {
				pages++
			}
		}
		for i := range counts {
			score[i] += counts[i] * math.Log(1+float64(len(all))/(1+pages)) * math.Log(float64(1+len(word)))
		}
	}
	order := make([]int, 0, len(all))
	for i := range all {
		if len(words) == 0 || score[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	if len(words) > 0 && len(order) > mostFound {
		order = order[:mostFound]
	}
	var lines strings.Builder
	for _, i := range order {
		fmt.Fprintf(&lines, "%s  %s\n", all[i].path, all[i].title)
	}
	if len(order) == 0 {
		return fmt.Sprintf("No page has a word of %q; without words all pages are listed.", text), nil
	}
	return strings.TrimRight(lines.String(), "\n"), nil
}
