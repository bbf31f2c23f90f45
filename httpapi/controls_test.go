package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestControlCharactersInURLs: each parameter of a query and each variable part of a path refuses
// control characters and text that is not UTF-8, with its name and the code point (D22.5).
func TestControlCharactersInURLs(t *testing.T) {
	t.Parallel()
	a := testAPI(t)
	checked := 0
	check := func(c *call, operation, name, text, want string) {
		t.Helper()
		checked++
		got := faults(t, c.validate())
		if !slices.Contains(got, "$."+name+" "+want) {
			t.Errorf("%s: %q in %s: %q", operation, text, name, got)
		}
	}
	for text, want := range map[string]string{
		"a\x00": "must not hold the control character U+0000", "\u0085": "must not hold the control character U+0085",
		"a\tb": "must not hold the control character U+0009", "\n": "must not hold the control character U+000A", "\xff": "must be UTF-8",
	} {
		for _, r := range a.table {
			o := a.operations[r.operation]
			if o == nil || r.access == byPage || r.access == byNothing || strings.HasPrefix(r.path, "/docs") {
				continue
			}
			for name := range o.Query {
				c := a.postCall(r.operation, "{}")
				c.r.URL.RawQuery = url.Values{name: {text}}.Encode()
				check(c, r.operation, name, text, want)
			}
			for _, part := range strings.Split(r.path, "/") {
				if name, ok := strings.CutPrefix(part, "{"); ok && r.operation != "eraseCustomer" && r.operation != "getCustomer" {
					c := a.postCall(r.operation, "{}")
					c.Vars = map[string]string{strings.TrimSuffix(name, "}"): text}
					check(c, r.operation, strings.TrimSuffix(name, "}"), text, want)
				}
			}
		}
	}
	t.Logf("%d values", checked)
	if checked < 300 {
		t.Errorf("%d values were checked", checked)
	}
}

// TestControlCharactersInBodies: each text of each body refuses control characters with its path
// (D22.5).
func TestControlCharactersInBodies(t *testing.T) {
	t.Parallel()
	a := testAPI(t)
	checked := 0
	for _, operation := range slices.Sorted(maps.Keys(a.operations)) {
		o := a.operations[operation]
		if o.Body == nil || o.Method == http.MethodGet {
			continue
		}
		for _, place := range texts(o.Body, "$", nil, 0) {
			for _, control := range []string{"\x00", "\x1f", "\u0080", "\u009f"} {
				body, err := json.Marshal(place.in("a" + control))
				if err != nil {
					t.Fatal(err)
				}
				c := a.postCall(operation, string(body))
				found := c.accept()
				if found == nil || !slices.ContainsFunc(faults(t, found), func(f string) bool {
					return strings.HasPrefix(f, place.path+" ") || strings.HasPrefix(f, place.path+"[")
				}) {
					t.Errorf("%s takes %q at %s: %v", operation, control, place.path, faults(t, found))
				}
				checked++
			}
		}
	}
	if checked < 500 {
		t.Errorf("%d texts were checked", checked)
	}
}

// textPlace is a place of a text in a body.
type textPlace struct {
	path string
	in   func(text any) any // returns a body that has only this text
}

// texts returns the places of texts below a schema. around puts a value into the body.
func texts(s *openapi3.Schema, path string, around func(any) any, depth int) (all []textPlace) {
	if around == nil {
		around = func(v any) any { return v }
	}
	switch {
	case depth > 8 || s.Type == nil:
		return nil
	case s.Type.Is(openapi3.TypeString):
		return []textPlace{{path, around}}
	case s.Type.Is(openapi3.TypeArray):
		return texts(s.Items.Value, path+"[0]", func(v any) any { return around([]any{v}) }, depth+1)
	case s.Type.Is(openapi3.TypeObject):
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			all = append(all, texts(s.Properties[name].Value, path+"."+name, func(v any) any { return around(map[string]any{name: v}) }, depth+1)...)
		}
		if more := s.AdditionalProperties.Schema; more != nil {
			all = append(all, texts(more.Value, path+".x", func(v any) any { return around(map[string]any{"x": v}) }, depth+1)...)
		}
	}
	return all
}

// TestNullInMetadata: null inside metadata removes the key, in each call that has metadata of a
// payment or a session (D22.5).
func TestNullInMetadata(t *testing.T) {
	t.Parallel()
	a := testAPI(t)
	calls := 0
	for operation, o := range a.operations {
		if o.Body == nil || o.Body.Properties["metadata"] == nil {
			continue
		}
		calls++
		c := a.postCall(operation, `{"metadata":{"a":null,"b":1,"c":null}}`)
		for _, fault := range faults(t, c.accept()) {
			if strings.HasPrefix(fault, "$.metadata") {
				t.Errorf("%s: %s", operation, fault)
			}
		}
		if got := string(c.Body.Text); !strings.Contains(got, `"metadata":{"b":1}`) {
			t.Errorf("%s: %s", operation, got)
		}
	}
	if calls < 3 {
		t.Errorf("%d calls have metadata", calls)
	}
}
