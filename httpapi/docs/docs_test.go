package docs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"payledger/eventstore/eventstoretest"
	"payledger/httpapi/docs/docstest"
	"payledger/httpapi/style"
)

// files returns the documents as the service has them.
func files(sandbox bool) (Config, error) {
	openapi, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		return Config{}, err
	}
	asyncapi, err := os.ReadFile("../../projections/eventjson/asyncapi.yaml")
	return Config{OpenAPI: openapi, AsyncAPI: asyncapi, Suggestions: map[string]string{}, PublicURL: "https://pay.example/", Sandbox: sandbox}, err
}

// sandboxDocs is the documentation of a sandbox. Its pages are made once for all tests.
var sandboxDocs = sync.OnceValues(func() (*Docs, error) {
	c, err := files(true)
	return New(c), err
})

func sandbox(t *testing.T) *Docs { t.Helper(); return made(t, sandboxDocs) }

// productionDocs is the documentation of a service in production, with a suggestion.
var productionDocs = sync.OnceValues(func() (*Docs, error) {
	c, err := files(false)
	c.Suggestions["PaymentError"] = "Check the id."
	return New(c), err
})

// openapi is openapi.yaml. No test may change it.
var openapi = sync.OnceValues(func() (*document, error) {
	c, err := files(true)
	if err != nil {
		return nil, err
	}
	return parse(c.OpenAPI)
})

// made returns a value that the first test makes for all tests.
func made[T any](t *testing.T, once func() (T, error)) T {
	t.Helper()
	it, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// text returns the content of a page or file.
func text(t *testing.T, d *Docs, path string) string {
	t.Helper()
	file, err := d.Get(path)
	if err != nil {
		t.Fatal(err)
	}
	body, err := file.Body()
	if err != nil || (file.Status == http.StatusOK) == (path == notFound) {
		t.Fatalf("%s: %d %v", path, file.Status, err)
	}
	return string(body)
}

// written are marks of a value that a template or Markdown could not show.
var written = []string{"raw HTML omitted", "ZgotmplZ", "<no value>", "%!", "{{"}

var (
	heads = regexp.MustCompile(`<h([1-6])`)
	ids   = regexp.MustCompile(` id="([^"]*)"`)
)

// TestPages: every page has one h1, no heading that skips a level, no id twice, no inline script or
// style, and nothing of another server.
func TestPages(t *testing.T) {
	t.Parallel()
	d := sandbox(t)
	paths, err := d.Pages()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, notFound) {
		text := text(t, d, path)
		if !strings.HasPrefix(text, "<!doctype html>") {
			continue
		}
		if n := strings.Count(text, "<h1>"); n != 1 {
			t.Errorf("%s has %d h1", path, n)
		}
		level := 0
		for _, m := range heads.FindAllStringSubmatch(text, -1) {
			next := int(m[1][0] - '0')
			if next > level+1 {
				t.Errorf("%s: h%d follows h%d", path, next, level)
			}
			level = next
		}
		seen := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(text, -1) {
			if seen[m[1]] {
				t.Errorf("%s has the id %s twice", path, m[1])
			}
			seen[m[1]] = true
		}
		for _, bad := range []string{" style=", "<style", " onclick", "javascript:", `src="http`, `href="http`} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
		own := strings.Count(text, `<script type="module" src="/docs/assets/`)
		if n := strings.Count(text, "<script"); n != own || (n != 1) != (path == Home) { // the first page needs none
			t.Errorf("%s has another script than its own", path)
		}
		for _, bad := range written {
			if strings.Contains(text, bad) {
				t.Errorf("%s says %q", path, bad)
			}
		}
	}
}

// TestContents: the contents beside a page are open at the page's link, which alone is marked as
// the current page.
func TestContents(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		Path: {"Guides", ""}, Path + "/guides/webhooks": {"Guides", "Webhooks"}, Path + "/calls/createPayment": {"Merchant", `<span class="verb POST">POST</span> <span>Create a payment</span>`},
		Path + "/errors": {"Errors", "All errors"}, Path + "/webhooks": {"Webhooks", "Delivery and signatures"},
		Path + "/events": {"Events for analysts", "All event types"}, notFound: {"", ""},
	} {
		page := text(t, sandbox(t), path)
		contents, _, _ := strings.Cut(page, "</nav>")
		_, open, _ := strings.Cut(contents, `<details class="shelf" open><summary>`)
		name, list, _ := strings.Cut(open, "</summary>")
		own, _, _ := strings.Cut(list, "</details>")
		_, link, _ := strings.Cut(own, `<a href="`+path+`" aria-current="page">`)
		marked, _, _ := strings.Cut(link, "</a>")
		if name != want[0] || marked != want[1] {
			t.Errorf("%s: %q is open at %q, expected %q", path, name, marked, want)
		}
		if strings.Count(page, "aria-current") != min(1, len(want[1])) || strings.Count(contents, `shelf" open`) != min(1, len(want[0])) {
			t.Errorf("%s has other open lists or current links", path)
		}
	}
}

// TestPagesNameEverything: every call has a page with its scope, fields and errors, and every
// errorId, kind of webhook and event type its section with an example.
func TestPagesNameEverything(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	pages, d := sandbox(t), made(t, openapi)
	order, err := d.kinds()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range d.Paths {
		for _, o := range path.Value {
			page := text(t, pages, Path+"/calls/"+o.Value.ID)
			for _, id := range d.errorIDs(o.Value, order) {
				if !strings.Contains(page, `<a href="/docs/errors#`+id+`"><code>`) {
					t.Errorf("the page of %s lacks %s", o.Value.ID, id)
				}
			}
			for _, m := range scopeSentence.FindAllStringSubmatch(o.Value.Description, -1) {
				if !strings.Contains(page, "<code>"+m[1]+"</code>") {
					t.Errorf("the page of %s lacks the scope %s", o.Value.ID, m[1])
				}
			}
			if !strings.Contains(page, `<pre tabindex="0"><code>curl `) {
				t.Errorf("the page of %s lacks an example", o.Value.ID)
			}
		}
	}
	errors := text(t, pages, Path+"/errors")
	for _, k := range order {
		if k.When == "" || !strings.Contains(errors, `<h2 id="`+k.ID+`">`) {
			t.Errorf("the errors lack %s", k.ID)
		}
		if _, err := errorFiles.ReadFile("errors/" + k.ID + ".json"); err != nil {
			t.Error(err)
		}
	}
	kinds, _ := d.Components.Schemas.get("WebhookEventType")
	var shown []string
	for _, w := range webhookKinds {
		shown = append(shown, w.Type)
	}
	if !slices.Equal(shown, kinds.Enum) {
		t.Errorf("the webhooks are %q, expected %q", shown, kinds.Enum)
	}
}

// TestSuggestions: the section of an errorId has the suggestion.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	if page := text(t, made(t, productionDocs), Path+"/errors"); !strings.Contains(page, "Check the id.") {
		t.Error("the suggestion is missing")
	}
}

// TestProductionTakesNoKey: the pages of a service in production have no field for a key.
func TestProductionTakesNoKey(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	const page = Path + "/calls/createPayment"
	if !strings.Contains(text(t, sandbox(t), page), `<input id="key"`) {
		t.Error("the sandbox takes no key")
	}
	production := text(t, made(t, productionDocs), page)
	if strings.Contains(production, `<input id="key"`) || !strings.Contains(production, "Production") {
		t.Error("production takes a key")
	}
}

// sameIDs are the ids of the notifier's bodies, and those of the pages in their place.
var sameIDs = strings.NewReplacer(`"01golden"`, `"01kzckyspad8av3fjghkvvb93n4c"`, `"01token"`, `"01kzckyq7m2c9w4t6xe8n0rjd5wk"`, `"acct1"`, `"bpDk3QxTzR7wLm2V"`)

// TestWebhookBodies: the example bodies are the notifier's own, which its tests make from events.
func TestWebhookBodies(t *testing.T) {
	t.Parallel()
	for kind, file := range map[string]string{
		"PAYMENT.STATUS": "payment_status", "PAYMENT.REFUND": "payment_refund", "PAYMENT.CAPTURE.FAILED": "capture_failed", "PAYMENT.REFUND.FAILED": "refund_failed",
		"PAYMENT.CANCELLATION.FAILED": "cancellation_failed", "PAYMENT.AUTHORIZATION_ADJUSTMENT.FAILED": "adjustment_failed",
		"DISPUTE.OPENED": "dispute_opened", "DISPUTE.STATUS": "dispute_status", "WORKFLOW_RUN.FAILED": "workflow_run_failed",
	} {
		golden, err := os.ReadFile("../../notifier/testdata/" + file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		shown, err := webhookFiles.ReadFile("webhooks/" + kind + ".json")
		if err != nil || string(shown) != sameIDs.Replace(string(golden)) {
			t.Errorf("%s differs from the notifier's %s.json: %v", kind, file, err)
		}
	}
}

// TestWrite: a file is compressed for a client that takes it, and the same text for any other;
// unknown addresses are 404.
func TestWrite(t *testing.T) {
	t.Parallel()
	d := sandbox(t)
	for accept, packed := range map[string]bool{"gzip, br": true, "br;q=1, gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000": false, "identity": false, "": false, "x-gzip": false} {
		file, err := d.Get(Path)
		if err != nil {
			t.Fatal(err)
		}
		r, w := httptest.NewRequest(http.MethodGet, Path, nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", accept)
		if err := file.Write(w, r); err != nil {
			t.Fatal(err)
		}
		h := w.Result().Header
		if is := h.Get("Content-Encoding") == "gzip"; is != packed || is == strings.HasPrefix(w.Body.String(), "<!doctype") {
			t.Errorf("%q: compressed %v", accept, is)
		}
		if h.Get("Content-Security-Policy") != style.Unconnected || h.Get("Vary") != "Accept-Encoding" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers %v", h)
		}
	}
	for path, status := range map[string]int{
		Path + "/errors": 200, Path + "/calls/nothing": 404, Path + "/assets/0000000000000000/docs.css": 200, Path + "/assets/0/nothing.css": 404,
		Path + "/404": 404, "/404": 404, Path + "/guides/../errors": 404,
	} {
		file, err := d.Get(path)
		if err != nil || file.Status != status {
			t.Errorf("%s is %d %v, expected %d", path, file.Status, err, status)
		}
	}
	pages, err := d.Pages()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		file, _ := d.Get(path)
		if own := strings.HasPrefix(path, Path+"/assets/"); own != (file.cache == style.KeepForEver) {
			t.Errorf("%s is kept by %q", path, file.cache)
		}
	}
}

// TestScripts: a guide's script is served as plain text, byte by byte.
func TestScripts(t *testing.T) {
	t.Parallel()
	file, err := sandbox(t).Get(Path + "/guides/check.py")
	if err != nil {
		t.Fatal(err)
	}
	body, err := file.Body()
	if want := docstest.Read(t, docstest.Guides+"check.py"); err != nil || string(body) != want || file.Status != http.StatusOK || file.contentType != "text/plain; charset=utf-8" {
		t.Errorf("check.py is %d %s %v: %s", file.Status, file.contentType, err, body)
	}
}

// internals are the numbers of decisions and the files that a guide must not name.
var internals = regexp.MustCompile(`\bD\d{1,2}(\.\d+)?\b|[A-Z]{3,}\.md|doc\.go|in the source|testdata/|deploy/`)

// TestGuideFiles: every guide is in the list of guides, has a title and a summary of one paragraph,
// and names nothing of the source that its reader does not have.
func TestGuideFiles(t *testing.T) {
	t.Parallel()
	files, err := guideFiles.ReadDir("guides")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, is := strings.CutSuffix(file.Name(), ".md")
		if !is {
			continue
		}
		text := docstest.Read(t, docstest.Guides+file.Name())
		if summary := strings.Split(text, "\n\n")[1]; !slices.Contains(guideNames, name) || !strings.HasPrefix(text, "# ") || strings.ContainsAny(summary, "`#|[") {
			t.Errorf("%s: add it to guideNames, and begin it with a title and a sentence", file.Name())
		}
		if found := internals.FindString(text); found != "" {
			t.Errorf("%s names %s, which its reader does not have: link to a page, or leave it out", file.Name(), found)
		}
	}
}

// TestPretty: JSON keeps its fields, their order and its numbers.
func TestPretty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"b":1,"a":[true,null,"<&>"]}`: `{"b": 1, "a": [true, null, "<&>"]}`,
		`[]`:                            `[]`,
		`{"n":12345678901234567890}`:    `{"n": 12345678901234567890}`,
		`{"long":"` + strings.Repeat("x", 80) + `","a":{"b":[]}}`: "{\n  \"long\": \"" + strings.Repeat("x", 80) + "\",\n  \"a\": {\"b\": []}\n}",
		`no JSON`: `no JSON`,
	} {
		if got := pretty(text); got != want {
			t.Errorf("%s is\n%s\nexpected\n%s", text, got, want)
		}
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(`{z: 1, a: "1", n: null, t: 2026-03-01T00:00:00Z, l: [a, true, 1.5]}`), &node); err != nil {
		t.Fatal(err)
	}
	got, err := jsonOf(node.Content[0])
	if err != nil || got != `{"z":1,"a":"1","n":null,"t":"2026-03-01T00:00:00Z","l":["a",true,1.5]}` {
		t.Errorf("%s %v", got, err)
	}
}

// TestFields: a schema's limits in words.
func TestFields(t *testing.T) {
	t.Parallel()
	d, err := parse([]byte(`components:
  schemas:
    A:
      type: object
      required: [id]
      properties:
        id: {type: string, minLength: 1, maxLength: 64}
        amount: {type: integer, minimum: 0, maximum: 10, default: 3}
        kind: {type: string, nullable: true, enum: [X, Y, null]}
        list: {type: array, maxItems: 5, items: {type: string, maxLength: 3}}
        again: {$ref: '#/components/schemas/A'}
        code: {type: string, pattern: "^a$"}
`))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := d.Components.Schemas.get("A")
	var got []string
	for _, f := range d.fields(s, 0) {
		got = append(got, fmt.Sprint(f.Name, ",", f.Type, ",", f.Required, ",", f.Limits, ",", f.Values))
	}
	want := []string{
		"id,string,true,[1 to 64 characters],[]", "amount,integer,false,[0 to 10 default 3],[]", "kind,string or null,false,[],[X Y]",
		"list,array of string,false,[at most 5 elements each at most 3 characters],[]", "again,object,false,[],[]", "code,string,false,[matches ^a$],[]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nexpected\n%q", got, want)
	}
}

// TestPostman: the collection has every call that does not answer a page, as openapi.yaml has it,
// but for those that a run cannot play. It has no secret, and a variable in the place of each id.
func TestPostman(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	var got collection
	if err := json.Unmarshal([]byte(text(t, sandbox(t), Postman)), &got); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(got.Info.Schema, "/v2.1.0/collection.json") || len(got.Variable) != 7+len(heldVariables) || got.Variable[0].Value != "https://pay.example" {
		t.Errorf("%+v %+v", got.Info, got.Variable)
	}
	for _, v := range got.Variable[1:] {
		if v.Value != "" && v.Key != "webhookUrl" {
			t.Errorf("the variable %s has a value", v.Key)
		}
	}
	for _, v := range heldVariables {
		if whole := text(t, sandbox(t), Postman); !strings.Contains(whole, "{{"+v.name+"}}") {
			t.Errorf("no request has the variable %s", v.name)
		}
	}
	var listed []string
	for _, folder := range got.Item {
		for _, item := range folder.Item {
			listed = append(listed, item.Request.Method+" /"+strings.Join(item.Request.URL.Path, "/"))
		}
	}
	d := made(t, openapi)
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	var want []string
	for _, path := range d.Paths {
		for _, o := range path.Value {
			if (o.Value.Tags[0] != "Pages" || o.Value.ID == "getPostmanCollection") && unplayed[o.Value.ID] == "" {
				want = append(want, strings.ToUpper(o.Key)+" "+parameter.ReplaceAllString(path.Key, ":$1"))
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("the collection has %q\nexpected %q", listed, want)
	}
}
