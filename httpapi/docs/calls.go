package docs

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type call struct {
	operation
	Method, Path string
	Scope        string
	Intro        string // the description, without the sentence about the scope
	PathFields   []field
	QueryFields  []field
	HeaderFields []field
	BodyFields   []field
	BodyNeeded   bool
	AnswerFields []field
	AnswerType   string
	Status       int
	Errors       []*errorKind

	Request string   // an example, as a curl command
	Samples []sample // the same example in each language
	Answer  string   // a recorded answer
	Example example
}

type example struct {
	Vars    map[string]string // of the path
	Query   []pair
	Headers []pair
	Body    string // JSON
}

type pair struct{ Name, Value string }

// Address is the page of the call.
func (c *call) Address() string { return Path + "/calls/" + c.ID }

// scopeSentence is the sentence of a description that names the scope.
var scopeSentence = regexp.MustCompile(`\s*\bScope ([a-z_]+:[a-z_]+)\.`)

// calls returns every call, in the order of the document. base is the address of the service.
func (d *document) calls(kinds []*errorKind, base string) ([]*call, error) {
	var all []*call
	for _, path := range d.Paths {
		for _, o := range path.Value {
			c := &call{operation: o.Value, Method: strings.ToUpper(o.Key), Path: path.Key}
			if err := d.describe(c); err != nil {
				return nil, fmt.Errorf("%w, in %s", err, c.ID)
			}
			for _, id := range d.errorIDs(c.operation, kinds) {
				i := slices.IndexFunc(kinds, func(k *errorKind) bool { return k.ID == id })
				c.Errors, kinds[i].Calls = append(c.Errors, kinds[i]), append(kinds[i].Calls, c)
			}
			c.Request = c.curl(base)
			c.Samples = c.samples(base)
			all = append(all, c)
		}
	}
	return all, nil
}

func (d *document) describe(c *call) error {
	c.Intro = strings.TrimSpace(c.Description)
	if m := scopeSentence.FindStringSubmatch(c.Intro); m != nil && c.Keyed() {
		c.Scope, c.Intro = m[1], strings.TrimSpace(strings.Replace(c.Intro, m[0], "", 1))
	}
	c.Example.Vars = map[string]string{}
	if c.Keyed() {
		c.Example.Headers = append(c.Example.Headers, pair{"X-API-KEY", "$PAYLEDGER_API_KEY"})
	}
	if c.Browser() {
		c.Example.Headers = append(c.Example.Headers, pair{"X-Client-Token", "$CLIENT_TOKEN"})
	}
	for _, p := range c.Parameters {
		if err := d.describeParam(c, d.param(p)); err != nil {
			return err
		}
	}
	body := c.Extra.Body
	if c.Body != nil {
		if content, is := c.Body.Content.get("application/json"); is {
			c.BodyFields, c.BodyNeeded = d.fields(content.Schema, 0), c.Body.Required
			if body.Kind == 0 {
				body = content.Example
			}
		}
	}
	for _, h := range c.Extra.Headers {
		c.Example.Headers = append(c.Example.Headers, pair{h.Key, h.Value})
	}
	if body.Kind != 0 {
		text, err := jsonOf(&body)
		if err != nil {
			return err
		}
		c.Example.Body = text
	}
	return d.describeAnswer(c)
}

func (d *document) describeAnswer(c *call) error {
	for _, r := range c.Responses {
		if r.Key != "200" && r.Key != "202" && r.Key != "303" || c.Status != 0 {
			continue
		}
		status, err := strconv.Atoi(r.Key)
		if err != nil {
			return err
		}
		c.Status = status
		for _, content := range d.response(r.Value).Content {
			c.AnswerType = content.Key
			if content.Key == "application/json" {
				c.AnswerFields = answered(d.fields(content.Value.Schema, 0))
			}
		}
	}
	return nil
}

func (d *document) describeParam(c *call, p param) error {
	f := d.field(p.Name, p.Required, p.Schema, 0)
	if p.Description != "" {
		f.Description = p.Description
	}
	value := ""
	switch {
	case p.Name == "clientToken" && p.In == "query":
		c.Example.Query = append(c.Example.Query, pair{p.Name, "$CLIENT_TOKEN"})
	case p.Example.Kind != 0:
		if value = plain(&p.Example); p.In == "query" {
			c.Example.Query = append(c.Example.Query, pair{p.Name, value})
		}
	case p.Name == "X-API-VERSION":
		value = p.Schema.Enum[0]
	}
	switch p.In {
	case "path":
		c.PathFields, c.Example.Vars[p.Name] = append(c.PathFields, f), value
	case "query":
		c.QueryFields = append(c.QueryFields, f)
	case "header":
		c.HeaderFields = append(c.HeaderFields, f)
		if value != "" {
			c.Example.Headers = append(c.Example.Headers, pair{p.Name, value})
		}
	}
	return nil
}

func (c *call) target() string {
	path := c.Path
	for name, value := range c.Example.Vars {
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(value), 1)
	}
	for i, q := range c.Example.Query {
		separator := "&"
		if i == 0 {
			separator = "?"
		}
		value := url.QueryEscape(q.Value)
		if strings.HasPrefix(q.Value, "$") { // a variable of the shell
			value = q.Value
		}
		path += separator + q.Name + "=" + value
	}
	return path
}

func (c *call) curl(base string) string {
	words := "curl "
	switch {
	case c.AnswerType == "text/event-stream":
		words += "-N "
	case c.Example.Body == "" && c.Method != http.MethodGet, c.Example.Body != "" && c.Method != http.MethodPost:
		words += "-X " + c.Method + " "
	}
	lines := []string{words + `"` + strings.TrimSuffix(base, "/") + c.target() + `"`}
	for _, h := range c.headers() {
		lines = append(lines, fmt.Sprintf(`-H "%s: %s"`, h.Name, h.Value))
	}
	if c.Example.Body != "" {
		lines = append(lines, "-d '"+strings.ReplaceAll(pretty(c.Example.Body), "'", `'\''`)+"'")
	}
	return strings.Join(lines, " \\\n  ")
}

// Has reports whether the example has a variable of the shell.
func (c *call) Has(variable string) bool { return strings.Contains(c.Request, "$"+variable) }

// OwnErrors returns the errors that openapi.yaml names for this call.
func (c *call) OwnErrors() []*errorKind { return c.errors(true) }

// CommonErrors returns the errors of every call of this kind.
func (c *call) CommonErrors() []*errorKind { return c.errors(false) }

func (c *call) errors(own bool) (found []*errorKind) {
	for _, k := range c.Errors {
		if slices.Contains(c.ErrorIDs, k.ID) == own {
			found = append(found, k)
		}
	}
	return found
}
