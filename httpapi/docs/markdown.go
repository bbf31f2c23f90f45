package docs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

//go:embed guides
var guideFiles embed.FS

var guideNames = []string{"first-payment", "webhooks", "checkout-in-your-page", "3-d-secure", "disputes", "workflows", "routing", "reporting", "developer-tools", "analysts", "tables", "auditors", "erasure", "going-to-production"}

// guide is a page of prose. Its source is Markdown; the first line is the title, the first
// paragraph the summary.
type guide struct {
	Name, Title, Summary string
	Content              template.HTML
	Source               string
}

// Address is the page of the guide.
func (g guide) Address() string { return Path + "/guides/" + g.Name }

// besides matches a link to a file beside a guide: another guide, which may have an anchor, or a
// script.
var besides = regexp.MustCompile(`\]\(([a-z0-9-]+)(?:\.md(#[^)]*)?|(\.py))\)`)

// guides reads the guides. base, the address of the service, takes the place of {{url}} in their
// text. Links to files beside a guide, which a reader of the repository follows, become links to
// their pages.
func guides(m *markdown, base string) ([]guide, error) {
	all := make([]guide, len(guideNames))
	for i, name := range guideNames {
		source, err := guideFiles.ReadFile("guides/" + name + ".md")
		if err != nil {
			return nil, fmt.Errorf("docs: %w", err)
		}
		text := strings.ReplaceAll(string(source), "{{url}}", strings.TrimSuffix(base, "/"))
		text = besides.ReplaceAllString(text, "]("+Path+"/guides/$1$2$3)")
		head, rest, _ := strings.Cut(text, "\n\n")
		summary, _, _ := strings.Cut(rest, "\n\n")
		content, err := m.html(rest)
		if err != nil {
			return nil, err
		}
		all[i] = guide{Name: name, Title: strings.TrimPrefix(head, "# "), Summary: strings.ReplaceAll(summary, "\n", " "), Content: content, Source: text}
	}
	return all, nil
}

type markdown struct{ goldmark.Markdown }

// newMarkdown returns a renderer whose blocks of code are those of the pages, with the template
// "code".
func newMarkdown(templates *template.Template) *markdown {
	return &markdown{goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.PrioritizedValue{Value: blocks{templates}, Priority: 100})),
	)}
}

func (m *markdown) html(text string) (template.HTML, error) {
	var b bytes.Buffer
	if err := m.Convert([]byte(text), &b); err != nil {
		return "", fmt.Errorf("docs: %w", err)
	}
	return template.HTML(b.String()), nil //nolint:gosec // goldmark leaves raw HTML out, and escapes text
}

type blocks struct{ templates *template.Template }

// RegisterFuncs implements renderer.NodeRenderer.
func (r blocks) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindFencedCodeBlock, r.code)
	register.Register(extensionast.KindTable, table)
}

// code is the template "code" with a copy button.
type code struct {
	Text, Language, Label string
}

// languages are the words of fences, and the labels of their blocks.
var languages = map[string]string{"sh": "Shell", "html": "HTML", "json": "JSON", "js": "Node", "python": "Python", "go": "Go", "sql": "SQL", "text": "Text", "": "Text"}

func (r blocks) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := node.(*ast.FencedCodeBlock)
	language := string(block.Language(source))
	var text bytes.Buffer
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		text.Write(line.Value(source))
	}
	return ast.WalkSkipChildren, r.templates.ExecuteTemplate(w, "code", code{strings.TrimSpace(text.String()), language, languages[language]})
}

// table puts a table into a box that scrolls, which takes the keyboard's focus.
func table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "</table></div>\n"
	if entering {
		text = `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>` + "\n"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}
