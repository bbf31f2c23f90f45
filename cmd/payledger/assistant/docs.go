package assistant

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"payledger/httpapi/client"
	"payledger/httpapi/docs"
)

// mostFound bounds the pages that a search lists.
const mostFound = 40

type docsSearch struct {
	Words string `json:"words,omitempty" jsonschema:"words that the page's title, call, path or scope has; without words all pages"`
}

type docsPage struct {
	Path string `json:"path" jsonschema:"path of the page, as search_docs lists it, for example /docs/guides/webhooks"`
}

// addDocs adds the tools that read the documentation of the running server, which needs no key.
func addDocs(server *mcp.Server, api *client.Client) {
	mcp.AddTool(server, &mcp.Tool{
		Name: "search_docs", Title: "Find a page of the documentation", Annotations: reading(),
		Description: "Finds pages of payledger's documentation: guides, a page for each call of the API, its errors, webhooks and events. Read one with read_docs.",
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in docsSearch) (*mcp.CallToolResult, any, error) {
		text, err := findPages(ctx, api, strings.Fields(strings.ToLower(in.Words)))
		return textResult(text), nil, err
	})
	mcp.AddTool(server, &mcp.Tool{
		Name: "read_docs", Title: "Read a page of the documentation", Annotations: reading(),
		Description: "Returns a page of payledger's documentation as text, with its examples.",
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in docsPage) (*mcp.CallToolResult, any, error) {
		text, err := readPage(ctx, api, in.Path)
		return textResult(text), nil, err
	})
}

// findPages lists the pages that have all the words.
func findPages(ctx context.Context, api *client.Client, words []string) (string, error) {
	html, err := read(ctx, api, docs.Path, nil)
	if err != nil {
		return "", err
	}
	entries, err := contents(html)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if has(strings.ToLower(e.find), words) {
			found = append(found, e.path+"  "+e.title)
		}
	}
	switch {
	case len(found) == 0:
		return fmt.Sprintf("No page has all of %q. Use fewer or other words; without words all pages are listed.", strings.Join(words, " ")), nil
	case len(words) > 0 && len(found) > mostFound:
		found = append(found[:mostFound], fmt.Sprintf("… and %d more: use more words", len(found)-mostFound))
	}
	return strings.Join(found, "\n"), nil
}

func has(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// readPage returns a page's content as text.
func readPage(ctx context.Context, api *client.Client, address string) (string, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host != "" || path.Clean(at.Path) != docs.Path && !strings.HasPrefix(path.Clean(at.Path), docs.Path+"/") {
		return "", errors.New("path must be one that search_docs lists, for example /docs/guides/webhooks")
	}
	html, err := read(ctx, api, (&url.URL{Path: path.Clean(at.Path)}).EscapedPath(), nil)
	if err != nil {
		return "", err
	}
	return pageText(html)
}
