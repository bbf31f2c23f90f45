package docs

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is openapi.yaml, or asyncapi.yaml, as far as the pages show it.
type document struct {
	Info struct {
		Title       string `yaml:"title"`
		Version     string `yaml:"version"`
		Description string `yaml:"description"`
	} `yaml:"info"`
	Tags       []tag             `yaml:"tags"`
	Paths      ordered[pathItem] `yaml:"paths"`
	Components struct {
		Schemas    ordered[*schema]  `yaml:"schemas"`
		Parameters ordered[param]    `yaml:"parameters"`
		Responses  ordered[response] `yaml:"responses"`
		Messages   ordered[message]  `yaml:"messages"`
	} `yaml:"components"`
}

type tag struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// pathItem has the operations of a path by method, in lower case.
type pathItem = ordered[operation]

type operation struct {
	ID          string                `yaml:"operationId"`
	Tags        []string              `yaml:"tags"`
	Summary     string                `yaml:"summary"`
	Description string                `yaml:"description"`
	Security    []map[string][]string `yaml:"security"`
	Parameters  []param               `yaml:"parameters"`
	Body        *body                 `yaml:"requestBody"`
	Responses   ordered[response]     `yaml:"responses"`
	ErrorIDs    []string              `yaml:"x-errorIds"`
	Extra       struct {              // the example of a call whose body openapi.yaml does not describe
		Headers ordered[string] `yaml:"headers"`
		Body    yaml.Node       `yaml:"body"`
	} `yaml:"x-example"`
}

type param struct {
	Ref         string    `yaml:"$ref"`
	Name        string    `yaml:"name"`
	In          string    `yaml:"in"`
	Required    bool      `yaml:"required"`
	Description string    `yaml:"description"`
	Schema      *schema   `yaml:"schema"`
	Example     yaml.Node `yaml:"example"`
}

type body struct {
	Required bool           `yaml:"required"`
	Content  ordered[media] `yaml:"content"`
}

type response struct {
	Ref         string         `yaml:"$ref"`
	Description string         `yaml:"description"`
	Content     ordered[media] `yaml:"content"`
}

type media struct {
	Schema  *schema   `yaml:"schema"`
	Example yaml.Node `yaml:"example"`
}

type message struct {
	Name    string `yaml:"name"`
	Summary string `yaml:"summary"`
}

type schema struct {
	Ref         string           `yaml:"$ref"`
	Type        typeNames        `yaml:"type"`
	Format      string           `yaml:"format"`
	Pattern     string           `yaml:"pattern"`
	Description string           `yaml:"description"`
	Properties  ordered[*schema] `yaml:"properties"`
	Required    []string         `yaml:"required"`
	Items       *schema          `yaml:"items"`
	Enum        []string         `yaml:"enum"`
	Default     yaml.Node        `yaml:"default"`
	Nullable    bool             `yaml:"nullable"`
	Unique      bool             `yaml:"uniqueItems"`
	AnyOf       []*schema        `yaml:"anyOf"`
	AllOf       []*schema        `yaml:"allOf"`

	Minimum       *string `yaml:"minimum"`
	Maximum       *string `yaml:"maximum"`
	MinLength     *int    `yaml:"minLength"`
	MaxLength     *int    `yaml:"maxLength"`
	MinItems      *int    `yaml:"minItems"`
	MaxItems      *int    `yaml:"maxItems"`
	MaxProperties *int    `yaml:"maxProperties"`
}

// typeNames is the type of a schema: one name, or several in AsyncAPI, null apart.
type typeNames struct {
	name string
	null bool
}

// UnmarshalYAML reads a name, or a sequence of names.
func (n *typeNames) UnmarshalYAML(node *yaml.Node) error {
	names := strings.Split(plain(node), ",")
	n.null = slices.Contains(names, "null")
	n.name = strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "null" }), " or ")
	return nil
}

// ordered is a mapping in the order of the document.
type ordered[T any] []entry[T]

type entry[T any] struct {
	Key   string
	Value T
}

// UnmarshalYAML reads a mapping.
func (o *ordered[T]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("docs: line %d is no mapping", node.Line)
	}
	for i := 0; i < len(node.Content); i += 2 {
		e := entry[T]{Key: node.Content[i].Value}
		if err := node.Content[i+1].Decode(&e.Value); err != nil {
			return err
		}
		*o = append(*o, e)
	}
	return nil
}

func (o ordered[T]) get(key string) (value T, found bool) {
	i := slices.IndexFunc(o, func(e entry[T]) bool { return e.Key == key })
	if i < 0 {
		return value, false
	}
	return o[i].Value, true
}

// plain returns a scalar, or the scalars of a sequence with commas between.
func plain(node *yaml.Node) string {
	var all []string
	for _, n := range append([]*yaml.Node{node}, node.Content...) {
		if n.Kind == yaml.ScalarNode {
			all = append(all, n.Value)
		}
	}
	return strings.Join(all, ",")
}

func parse(text []byte) (*document, error) {
	d := &document{}
	if err := yaml.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	return d, nil
}

func last(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// schema returns the schema that s refers to, or s.
func (d *document) schema(s *schema) *schema {
	for s != nil && s.Ref != "" {
		target, _ := d.Components.Schemas.get(last(s.Ref))
		s = target
	}
	return s
}

func (d *document) param(p param) param {
	if p.Ref != "" {
		p, _ = d.Components.Parameters.get(last(p.Ref))
	}
	return p
}

func (d *document) response(r response) response {
	if r.Ref != "" {
		r, _ = d.Components.Responses.get(last(r.Ref))
	}
	return r
}
