package httpapi

import (
	"net/http"
	"strings"

	"payledger/domain/account"
	"payledger/httpapi/dashboard"
	"payledger/httpapi/docs"
	"payledger/projections/eventjson"
)

// Documentation returns the documentation pages of this build, for a service at an address.
func Documentation(publicURL string) *docs.Docs {
	return newDocs(Config{PublicURL: publicURL})
}

func newDocs(c Config) *docs.Docs {
	suggestions := map[string]string{}
	for reason, row := range errorTable {
		suggestions[string(reason)] = row.suggestion
	}
	own := docs.Config{
		OpenAPI: openapiYAML, AsyncAPI: eventjson.AsyncAPI(), Suggestions: suggestions, PublicURL: c.PublicURL, Sandbox: c.Environment == account.Sandbox,
	}
	if c.Users != nil {
		own.Dashboard = dashboard.Path
	}
	return docs.New(own)
}

// fromBrowser reports whether a request is a browser's for GET /, which leads to the dashboard and
// the documentation (I1). Other clients get the error of an
// unknown path.
func (c *call) fromBrowser() bool {
	return c.r.URL.Path == "/" && c.r.Method == http.MethodGet && strings.Contains(c.r.Header.Get("Accept"), "text/html")
}

func getDocs(c *call) (any, error) { return c.api.docs.Get(strings.TrimSuffix(c.r.URL.Path, "/")) }

func getOpenAPI(*call) (any, error) {
	return raw{contentType: "application/yaml", body: openapiYAML, shared: true}, nil
}

func getAsyncAPI(*call) (any, error) {
	return raw{contentType: "application/yaml", body: eventjson.AsyncAPI(), shared: true}, nil
}
