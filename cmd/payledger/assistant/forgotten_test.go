package assistant

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/eventstore/eventstoretest"
	"payledger/httpapi"
)

// The name, the description or the pattern of a field that may carry a token, a key or a secret.
var (
	secretName    = regexp.MustCompile(`(?i)(token|secret|password|passphrase|credential|key|signature|cookie)s?$`)
	secretText    = regexp.MustCompile(`(?i)\b(JWT|tokens?|secrets?|passwords?|credentials?|API keys?)\b`)
	secretPattern = regexp.MustCompile(`plk_|plsec_|eyJ`)
)

// harmless are fields that carry none, with the reason.
var harmless = map[string]string{
	"actor":          "has a fingerprint of a session",
	"actorName":      "the name of a key or user",
	"body":           "a processor's answer, from which tokens are taken out",
	"hint":           "the last characters of a secret",
	"idempotencyKey": "names a request, and opens nothing",
	"key":            "names an operation at its processor",
	"keys":           "names of signing secrets",
	"path":           "of a request, without its secret and personal parts",
	"processor":      "the name of one",
	"verifierKey":    "public",
	"warnings":       "sentences about a rotation",
}

// secretSamples are values of the kinds of tokens and secrets.
var secretSamples = []string{"01txvc7zda0dsqy23w6yqeyd9esr", "7Kq2vX9bTz4MwRf8LpYc3NsJ", "plk_sandbox_7Kq2vX9bTz_4MwRf8LpYc3NsJ", "plsec_7Kq2vX9bTz4MwRf8LpYc3NsJ"}

// TestNoFieldIsForgotten: each field of an answer in openapi.yaml that may carry a token, a key or
// a secret, by its name, format, pattern or description, is hidden from the assistant or listed as
// harmless. The answers are those of all calls: a call may become a tool.
func TestNoFieldIsForgotten(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	document, err := httpapi.LoadOpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	w := fieldWalk{t: t, seen: map[*openapi3.Schema]bool{}, suspected: map[string]bool{}}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			for _, response := range operation.Responses.Map() {
				for media, content := range response.Value.Content {
					if strings.Contains(media, "json") {
						w.schema(method+" "+path, "", content.Schema)
					}
				}
			}
		}
	}
	for _, name := range []string{"paymentMethodToken", "token", "clientToken", "resumeToken", "apiKey", "signingSecret", "password"} {
		if !w.suspected[name] {
			t.Errorf("the walk did not come to the field %s", name)
		}
	}
	for name := range harmless {
		if !w.suspected[name] {
			t.Errorf("%s is listed as harmless, and no field of the name is suspected", name)
		}
	}
}

type fieldWalk struct {
	t         *testing.T
	seen      map[*openapi3.Schema]bool
	suspected map[string]bool
}

// schema walks the schema of a field ("": of no field) and all below it.
func (w fieldWalk) schema(at, name string, ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	s := ref.Value
	if name != "" {
		w.field(at, name, s)
	}
	if w.seen[s] {
		return
	}
	w.seen[s] = true
	for field, below := range s.Properties {
		w.schema(at+" "+field, field, below)
	}
	w.schema(at, "", s.Items)
	w.schema(at, "", s.AdditionalProperties.Schema)
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		w.schema(at, name, part)
	}
}

// field fails the test if a field may carry a token and is not hidden.
func (w fieldWalk) field(at, name string, s *openapi3.Schema) {
	text := s
	if s.Items != nil {
		text = s.Items.Value
	}
	switch {
	case text.Type == nil || !text.Type.Is(openapi3.TypeString) || len(text.Enum) > 0 || strings.HasPrefix(text.Format, "date"):
		return
	case !secretName.MatchString(name) && !secretText.MatchString(s.Description) && !secretPattern.MatchString(text.Pattern) && text.Format != "password":
		return
	}
	w.suspected[name] = true
	if harmless[name] != "" {
		return
	}
	i := slices.IndexFunc(secretSamples, func(value string) bool {
		matches, err := regexp.MatchString(text.Pattern, value)
		return err == nil && matches
	})
	if i < 0 {
		w.t.Errorf("%s: no sample fits the pattern %s", at, text.Pattern)
		return
	}
	value := any(secretSamples[i])
	if s.Items != nil {
		value = []any{value}
	}
	answer, err := json.Marshal(map[string]any{"data": []any{map[string]any{name: value}}})
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Contains(string(withoutTokens(answer)), secretSamples[i]) {
		w.t.Errorf("%s: the assistant sees it: hide the field in secrets.go, or list it as harmless with the reason", at)
	}
}
