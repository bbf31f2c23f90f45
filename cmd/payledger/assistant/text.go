package assistant

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// entry is a page or a section in the contents of the documentation. find has words that it is
// found by. text makes its Markdown, once.
type entry struct {
	path, title, find string
	text              func() (string, error)
}

// contents returns the entries of the documentation's contents: list items with what they are found
// by, and a link.
func contents(page []byte) ([]entry, error) {
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	var found []entry
	for n := range root.Descendants() {
		text, is := attribute(n, "data-find")
		if !is {
			continue
		}
		for link := range n.Descendants() {
			if address, is := attribute(link, "href"); is {
				found = append(found, entry{path: address, title: oneSpace(plain(link)), find: text})
				break
			}
		}
	}
	return found, nil
}

func attribute(n *html.Node, name string) (string, bool) {
	if i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name }); i >= 0 {
		return n.Attr[i].Val, true
	}
	return "", false
}

func plain(n *html.Node) string {
	var text strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text.WriteString(d.Data)
		}
	}
	return text.String()
}

func oneSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

type page struct{ main *html.Node }

func newPage(text []byte) (page, error) {
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return page{}, err
	}
	for n := range root.Descendants() {
		if n.DataAtom == atom.Main {
			return page{n}, nil
		}
	}
	return page{}, errors.New("the page has no content")
}

// text returns what the page says as Markdown, or the section around an anchor: code as it is, rows
// of tables as lines.
func (p page) text(anchor string) (string, error) {
	from := p.main
	if anchor != "" {
		if from = p.section(anchor); from == nil {
			return "", fmt.Errorf("the page has no section %s", anchor)
		}
	}
	w := writer{}
	w.children(from)
	return strings.TrimSpace(manyLines.ReplaceAllString(w.String(), "\n\n")), nil
}

// section returns the innermost section that has an anchor; nil if there is none.
func (p page) section(anchor string) *html.Node {
	for n := range p.main.Descendants() {
		if id, is := attribute(n, "id"); !is || id != anchor {
			continue
		}
		for ; n != p.main; n = n.Parent {
			if n.DataAtom == atom.Section {
				return n
			}
		}
	}
	return nil
}

var manyLines = regexp.MustCompile(`\n[ \n]*\n`)

type writer struct{ strings.Builder }

func (w *writer) children(n *html.Node) {
	for c := range n.ChildNodes() {
		w.node(c)
	}
}

func (w *writer) node(n *html.Node) {
	if n.Type == html.TextNode {
		text := oneSpace(n.Data)
		if text == "" {
			if n.Data != "" && !strings.Contains(n.Data, "\n") {
				w.WriteByte(' ')
			}
			return
		}
		if strings.TrimLeft(n.Data, " \t\n") != n.Data {
			text = " " + text
		}
		if strings.TrimRight(n.Data, " \t\n") != n.Data {
			text += " "
		}
		w.WriteString(text)
		return
	}
	if _, hidden := attribute(n, "hidden"); hidden {
		return
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Button, atom.Input:
	case atom.Pre:
		w.WriteString("\n\n```\n" + strings.TrimRight(plain(n), "\n") + "\n```\n\n")
	case atom.Code:
		w.WriteString("`" + plain(n) + "`")
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.WriteString("\n\n" + strings.Repeat("#", int(n.Data[1]-'0')) + " " + oneSpace(plain(n)) + "\n\n")
	case atom.Li:
		w.WriteString("\n- ")
		w.children(n)
	case atom.Tr, atom.Dt:
		w.WriteByte('\n')
		w.children(n)
	case atom.Td, atom.Th:
		w.children(n)
		w.WriteString(" | ")
	case atom.Dd:
		w.WriteString(": ")
		w.children(n)
	case atom.Br:
		w.WriteByte('\n')
	case atom.P, atom.Div, atom.Section, atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Summary, atom.Details, atom.Blockquote:
		w.WriteString("\n\n")
		w.children(n)
		w.WriteString("\n\n")
	default:
		w.children(n)
	}
}
