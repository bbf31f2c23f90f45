package httpapi

import (
	"net/http"
	"strings"

	"payledger/domain/account"
	"payledger/httpapi/dashboard"
	"payledger/httpapi/docs"
	"payledger/projections/eventjson"
)

// homePath returns the page that a browser gets for GET / (I1): the dashboard if there is one, else
// the documentation.
func (a *API) homePath() string {
	if a.dashboard != nil {
		return dashboard.Path
	}
	return docs.Path
}

// Documentation returns the documentation pages of this build, for a service at an address.
func Documentation(publicURL string) *docs.Docs {
	return newDocs(Config{PublicURL: publicURL})
}

func newDocs(c Config) *docs.Docs {
	suggestions := map[string]string{}
	for reason, row := range errorTable {
		suggestions[string(reason)] = row.suggestion
	}
	return docs.New(docs.Config{
		OpenAPI: openapiYAML, AsyncAPI: eventjson.AsyncAPI(), Suggestions: suggestions, PublicURL: c.PublicURL, Sandbox: c.Environment == account.Sandbox,
	})
}

type redirect struct{ to string }

func (c *call) redirect(to redirect) outcome {
	h := c.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", to.to)
	h.Set("Vary", "Accept")
	c.w.WriteHeader(http.StatusSeeOther)
	return outcome{status: http.StatusSeeOther}
}

// fromBrowser reports whether a request is a browser's for GET /. Other clients get the error of an
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
