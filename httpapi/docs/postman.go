package docs

import (
	_ "embed"
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
		Event    []eventScript    `json:"event"`
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
	eventScript struct {
		Listen string `json:"listen"`
		Script script `json:"script"`
	}
	script struct {
		Type string   `json:"type"`
		Exec []string `json:"exec"`
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

//go:embed postman/prepare.js
var prepareScript string

//go:embed postman/learn.js
var learnScript string

// heldVariables are the collection's variables for tokens and ids, which its scripts set, with the
// example's value that each takes the place of.
var heldVariables = []struct{ name, example string }{
	{"paymentMethodToken", "01kzckyq7m2c9w4t6xe8n0rjd5wk"}, {"paymentId", "01kzckyspad8av3fjghkvvb93n4c"}, {"attemptId", "01kzckz3h8vq2d6s0tbgwm4yfa2n"},
	{"apiKeyId", "eyMSNf2pO5Bnk74Y"}, {"endpointId", "5d0f3c1e-2b6a-4f7d-9c8e-0a1b2c3d4e5f"}, {"deliveryId", "w7kq2m5czx4t6ndj3hsbgva2ye"},
	{"replayId", "c2a7f0de-15b4-4e3a-8d69-70b1e4c8f923"}, {"disputeId", "01m3r8e5kq0w7vt2zhc6xj4ynd7s"}, {"workflowId", "9d4e2b60-7c1f-4a58-b3e9-6f0a2d8c5b17"},
	{"userId", "q4c1yw9m3kr8t2xn6hbv7zse5d"}, {"listenerId", "8b1e6f24-93ad-4c70-b5e2-d17f0a9c4e63"}, {"comparisonId", "4mq2xv7kbn3sdh6tjw5yceuzra"},
}

// inVariables puts the collection's variables into the places of an example's values.
func inVariables(text string) string {
	for _, v := range heldVariables {
		text = strings.ReplaceAll(text, v.example, "{{"+v.name+"}}")
	}
	return postmanVariables.Replace(text)
}

// unplayed are the calls that the collection leaves out, with the reason: it runs from the first
// request to the last.
var unplayed = map[string]string{
	"streamEvents": "has no end", "streamWebhookListener": "has no end", "streamRequestLog": "has no end",
	"answerWebhookListener":        "answers a message of a stream",
	"receiveProcessorNotification": "has a processor's signature",
}

// inOrder returns the calls of a folder: those that change how payments are made come last.
func inOrder(calls []*call) []*call {
	last := func(c *call) int {
		if slices.Contains([]string{"changeSettings", "replaceRouting", "changeProcessor"}, c.ID) {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(calls), func(a, b *call) int { return last(a) - last(b) })
}

// addPostman adds the collection: the calls with JSON answers, each with its example. It has no
// secret: url and apiKey are variables. Its scripts carry tokens and ids from request to request.
func (s *site) addPostman() error {
	c := collection{
		Info: collectionInfo{
			Name: "payledger",
			Description: "Made from openapi.yaml. Set the variables url and apiKey. Each request first makes what it needs, such as a payment to refund, and keeps " +
				"the tokens and ids of its answer for the next; with the variable ownIds set to true it is sent with your own ids. The last requests of the " +
				"folder Management change settings, routing and a processor of your account.",
			Schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
		},
		Auth: &collectionAuth{"apikey", []keyValue{
			{Key: "key", Value: "X-API-KEY", Type: "string"}, {Key: "value", Value: "{{apiKey}}", Type: "string"}, {Key: "in", Value: "header", Type: "string"},
		}},
		Variable: []keyValue{
			{Key: "url", Value: strings.TrimSuffix(s.PublicURL, "/"), Type: "string"},
			{Key: "apiKey", Type: "string", Description: "A key of the sandbox. Keep it in the current value, which Postman does not share."},
			{Key: "clientToken", Type: "string", Description: "Of a client session, for the calls of the customer's browser."},
			{Key: "actionToken", Type: "string", Description: "Of a payment's required action."},
			{Key: "resumeToken", Type: "string", Description: "Of a completed action."},
			{Key: "webhookUrl", Value: "https://shop.example/webhooks", Type: "string", Description: "Where webhooks go."},
			{Key: "ownIds", Type: "string", Description: "true: requests make nothing first."},
		},
		Event: []eventScript{
			{"prerequest", script{"text/javascript", strings.Split(prepareScript, "\n")}}, {"test", script{"text/javascript", strings.Split(learnScript, "\n")}},
		},
	}
	for _, v := range heldVariables {
		c.Variable = append(c.Variable, keyValue{Key: v.name, Type: "string"})
	}
	for _, g := range s.Groups {
		folder := collectionItem{Name: g.Name, Description: g.Description}
		for _, call := range inOrder(g.Calls) {
			if unplayed[call.ID] != "" {
				continue
			}
			if call.AnswerType == "application/json" || call.AnswerType == "application/jsonl" || call.AnswerType == "application/yaml" {
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
			r.URL.Variable = append(r.URL.Variable, keyValue{Key: name, Value: inVariables(c.Example.Vars[name])})
			segment = ":" + name
		}
		r.URL.Path = append(r.URL.Path, segment)
	}
	r.URL.Raw = "{{url}}/" + strings.Join(r.URL.Path, "/")
	separator := "?"
	for _, f := range c.QueryFields {
		q := keyValue{Key: f.Name, Description: f.Description, Disabled: true}
		if i := slices.IndexFunc(c.Example.Query, func(p pair) bool { return p.Name == f.Name }); i >= 0 {
			q.Value, q.Disabled = inVariables(c.Example.Query[i].Value), false
			r.URL.Raw += separator + q.Key + "=" + q.Value
			separator = "&"
		}
		r.URL.Query = append(r.URL.Query, q)
	}
	for _, h := range c.Example.Headers {
		if h.Name != "X-API-KEY" { // in auth
			r.Header = append(r.Header, keyValue{Key: h.Name, Value: c.postmanHeader(h.Value)})
		}
	}
	if c.Example.Body != "" {
		r.Header = append(r.Header, keyValue{Key: "Content-Type", Value: "application/json"})
		r.Body = &collectionBody{"raw", inVariables(pretty(c.Example.Body)), map[string]any{"raw": map[string]string{"language": "json"}}}
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

// postmanHeader returns the value of a header. The client token of a required action is another
// than that of a session.
func (c *call) postmanHeader(value string) string {
	if c.ID == "completeRequiredAction" {
		value = strings.ReplaceAll(value, "$CLIENT_TOKEN", "{{actionToken}}")
	}
	return inVariables(value)
}

var postmanVariables = strings.NewReplacer(
	"$PAYLEDGER_API_KEY", "{{apiKey}}", "$CLIENT_TOKEN", "{{clientToken}}", `"clientToken": "eyJhbGciOi…"`, `"clientToken": "{{clientToken}}"`,
	`"resumeToken": "eyJhbGciOi…"`, `"resumeToken": "{{resumeToken}}"`, "https://shop.example/webhooks", "{{webhookUrl}}",
	"ada@shop.example", "ada+{{$timestamp}}@shop.example",
)
