package docs

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// The collection's format: Postman Collection 2.1.0.
type (
	collection struct {
		Info     collectionInfo   `json:"info"`
		Auth     *collectionAuth  `json:"auth,omitempty"`
		Variable []keyValue       `json:"variable"`
		Item     []collectionItem `json:"item"`
	}
	collectionInfo struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Schema      string `json:"schema"`
	}
	collectionAuth struct {
		Type   string     `json:"type"`
		APIKey []keyValue `json:"apikey,omitempty"`
	}
	keyValue struct {
		Key         string `json:"key"`
		Value       string `json:"value"`
		Type        string `json:"type,omitempty"`
		Description string `json:"description,omitempty"`
		Disabled    bool   `json:"disabled,omitempty"`
	}
	collectionItem struct {
		Name        string               `json:"name"`
		Description string               `json:"description,omitempty"`
		Item        []collectionItem     `json:"item,omitempty"`
		Request     *collectionRequest   `json:"request,omitempty"`
		Response    []collectionResponse `json:"response,omitempty"`
	}
	collectionRequest struct {
		Method      string          `json:"method"`
		Description string          `json:"description,omitempty"`
		Auth        *collectionAuth `json:"auth,omitempty"`
		Header      []keyValue      `json:"header"`
		URL         collectionURL   `json:"url"`
		Body        *collectionBody `json:"body,omitempty"`
	}
	collectionURL struct {
		Raw      string     `json:"raw"`
		Host     []string   `json:"host"`
		Path     []string   `json:"path"`
		Query    []keyValue `json:"query,omitempty"`
		Variable []keyValue `json:"variable,omitempty"`
	}
	collectionBody struct {
		Mode    string `json:"mode"`
		Raw     string `json:"raw"`
		Options any    `json:"options,omitempty"`
	}
	collectionResponse struct {
		Name            string             `json:"name"`
		OriginalRequest *collectionRequest `json:"originalRequest"`
		Status          string             `json:"status"`
		Code            int                `json:"code"`
		PreviewLanguage string             `json:"_postman_previewlanguage"`
		Header          []keyValue         `json:"header"`
		Body            string             `json:"body"`
	}
)

// addPostman adds the collection: every call but those of pages, with its example. It has no
// secret: url and apiKey are variables.
func (s *site) addPostman() error {
	c := collection{
		Info: collectionInfo{
			Name:        "payledger",
			Description: "Made from openapi.yaml. Set the variables url and apiKey; clientToken is the answer of POST /client-session.",
			Schema:      "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
		},
		Auth: &collectionAuth{"apikey", []keyValue{
			{Key: "key", Value: "X-API-KEY", Type: "string"}, {Key: "value", Value: "{{apiKey}}", Type: "string"}, {Key: "in", Value: "header", Type: "string"},
		}},
		Variable: []keyValue{
			{Key: "url", Value: strings.TrimSuffix(s.PublicURL, "/"), Type: "string"},
			{Key: "apiKey", Type: "string", Description: "A key of the sandbox. Keep it in the current value, which Postman does not share."},
			{Key: "clientToken", Type: "string", Description: "Of a client session, for the calls of the customer's browser."},
		},
	}
	for _, g := range s.Groups {
		folder := collectionItem{Name: g.Name, Description: g.Description}
		for _, call := range g.Calls {
			if call.AnswerType == "application/json" || call.AnswerType == "application/jsonl" || call.AnswerType == "application/yaml" || call.AnswerType == "text/event-stream" {
				folder.Item = append(folder.Item, call.postman())
			}
		}
		if len(folder.Item) > 0 {
			c.Item = append(c.Item, folder)
		}
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	s.add(Postman, "application/json", cachePages, text)
	return nil
}

func (c *call) postman() collectionItem {
	r := &collectionRequest{Method: c.Method, Description: c.Description, Header: []keyValue{}}
	if !c.Keyed() {
		r.Auth = &collectionAuth{Type: "noauth"}
	}
	path := strings.Trim(c.Path, "/")
	r.URL = collectionURL{Host: []string{"{{url}}"}}
	for segment := range strings.SplitSeq(path, "/") {
		if name, is := strings.CutPrefix(segment, "{"); is {
			name = strings.TrimSuffix(name, "}")
			r.URL.Variable = append(r.URL.Variable, keyValue{Key: name, Value: c.Example.Vars[name]})
			segment = ":" + name
		}
		r.URL.Path = append(r.URL.Path, segment)
	}
	r.URL.Raw = "{{url}}/" + strings.Join(r.URL.Path, "/")
	separator := "?"
	for _, f := range c.QueryFields {
		q := keyValue{Key: f.Name, Description: f.Description, Disabled: true}
		if i := slices.IndexFunc(c.Example.Query, func(p pair) bool { return p.Name == f.Name }); i >= 0 {
			q.Value, q.Disabled = postmanVariables.Replace(c.Example.Query[i].Value), false
			r.URL.Raw += separator + q.Key + "=" + q.Value
			separator = "&"
		}
		r.URL.Query = append(r.URL.Query, q)
	}
	for _, h := range c.Example.Headers {
		if h.Name != "X-API-KEY" { // in auth
			r.Header = append(r.Header, keyValue{Key: h.Name, Value: postmanVariables.Replace(h.Value)})
		}
	}
	if c.Example.Body != "" {
		r.Header = append(r.Header, keyValue{Key: "Content-Type", Value: "application/json"})
		r.Body = &collectionBody{"raw", pretty(c.Example.Body), map[string]any{"raw": map[string]string{"language": "json"}}}
	}
	item := collectionItem{Name: c.Summary, Request: r}
	if c.Answer != "" {
		item.Response = []collectionResponse{{
			Name: "Example", OriginalRequest: r, Status: http.StatusText(c.Status), Code: c.Status, PreviewLanguage: "json",
			Header: []keyValue{{Key: "Content-Type", Value: c.AnswerType}}, Body: c.Answer,
		}}
	}
	return item
}

var postmanVariables = strings.NewReplacer("$PAYLEDGER_API_KEY", "{{apiKey}}", "$CLIENT_TOKEN", "{{clientToken}}")
