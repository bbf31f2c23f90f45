package servicetest

import (
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

var recordAnswers = flag.Bool("record-answers", false, "record the answers that the documentation shows, where they are missing or have other fields")

// answersFolder has the answers that the pages below /docs show.
const answersFolder = "../../../httpapi/docs/answers"

// shownMessages is the number of messages of a stream that its page shows, the first of which has
// no event.
const shownMessages = 3

// TestDocsExamples checks that the curl command of every call's page works against the whole
// service, with ids and tokens of the test, and that the answer on the page fits openapi.yaml and
// the service's answer.
func TestDocsExamples(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := apptest.NewReader(t)
	document := apptest.OpenAPI(t)
	shown := map[string]bool{}
	for _, path := range inOrder(document.Paths) {
		item := document.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			operation := item.GetOperation(method)
			id := operation.OperationID
			_, blocks := r.Page("/docs/calls/" + id)
			if len(blocks) == 0 {
				t.Errorf("%s has no example", id)
				continue
			}
			mine := r.Given(id, path)
			if id == "receiveProcessorNotification" {
				mine = r.Signed(blocks[0])
			}
			status, body := r.Run(blocks[0], mine)
			success := operation.Responses.Value(status)
			if success == nil || status[0] != '2' {
				t.Errorf("%s %s: the example is answered %s %s\n%s", method, path, status, body, blocks[0])
				continue
			}
			mine.Learn(t, id, body)
			if blocks := strings.SplitN(body, "\n\n", shownMessages+1); strings.HasPrefix(blocks[0], "retry:") && len(blocks) > shownMessages {
				body = strings.Join(blocks[:shownMessages], "\n\n")
			}
			if kept := checkAnswer(t, id, success.Value, r.Anonymous(body, mine)); kept != "" {
				shown[kept] = true
			}
		}
	}
	entries, err := os.ReadDir(answersFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !shown[e.Name()] {
			t.Errorf("%s/%s is the answer of no call", answersFolder, e.Name())
		}
	}
}

// inOrder returns the paths in the order in which their examples run: examples that change how
// payments are made come last.
func inOrder(paths *openapi3.Paths) []string {
	late := func(path string) bool {
		return slices.Contains([]string{"/management/settings", "/management/routing", "/management/processors/{name}"}, path)
	}
	return slices.SortedFunc(maps.Keys(paths.Map()), func(a, b string) int {
		if late(a) != late(b) {
			return map[bool]int{true: 1, false: -1}[late(a)]
		}
		return strings.Compare(a, b)
	})
}

// checkAnswer compares the recorded answer of a call with openapi.yaml and with a fresh answer, and
// returns the name of its file; "" for pages and documents, which have no recorded answer.
func checkAnswer(t *testing.T, operation string, documented *openapi3.Response, fresh string) (name string) {
	t.Helper()
	name = operation + ".json"
	media := documented.Content["application/json"]
	switch {
	case documented.Content["text/event-stream"] != nil || documented.Content["application/jsonl"] != nil:
		name = operation + ".txt"
	case media == nil || operation == "getPostmanCollection":
		return ""
	}
	path := filepath.Join(answersFolder, name)
	recorded, err := os.ReadFile(path)
	if *recordAnswers && (err != nil || !slices.Equal(shapeOf(string(recorded)), shapeOf(fresh))) {
		recorded = []byte(strings.TrimSpace(fresh) + "\n")
		err = os.WriteFile(path, recorded, 0o644)
	}
	if err != nil {
		t.Errorf("%s: %v; -record-answers records it", operation, err)
		return name
	}
	if media == nil {
		return name
	}
	var value any
	if err := json.Unmarshal(recorded, &value); err != nil {
		t.Errorf("%s: %v", path, err)
		return name
	}
	if err := media.Schema.Value.VisitJSON(value, openapi3.MultiErrors()); err != nil {
		t.Errorf("%s is no answer of openapi.yaml: %v", path, err)
	}
	return name
}

// TestDocsHaveEverything: /docs lists every call, and every page, file and anchor that a page links
// to exists.
func TestDocsHaveEverything(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := apptest.NewReader(t)
	document := apptest.OpenAPI(t)
	home, _ := r.Page("/docs")
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if !strings.Contains(home, `href="/docs/calls/`+operation.OperationID+`"><span class="verb `+method+`">`+method+`</span> <code>`+path+`</code>`) {
				t.Errorf("/docs does not list %s %s", method, path)
			}
		}
	}
	pages, followed := map[string]string{"/docs": home}, map[string]bool{}
	for queue := []string{"/docs"}; len(queue) > 0; queue = queue[1:] {
		for _, link := range links(pages[queue[0]]) {
			to, anchor, _ := strings.Cut(link, "#")
			if to == "" {
				to = queue[0]
			}
			if followed[to+"#"+anchor] {
				continue
			}
			followed[to+"#"+anchor] = true
			if _, seen := pages[to]; !seen {
				got, err := r.Call("GET", to, nil, nil)
				if signIn := to == "/dashboard" && err == nil && got.Status == http.StatusUnauthorized; !signIn && (err != nil || got.Status != http.StatusOK) {
					t.Errorf("%s links to %s: %d %v", queue[0], link, got.Status, err)
				}
				pages[to] = string(got.Body)
				if strings.HasPrefix(to, "/docs") {
					queue = append(queue, to)
				}
			}
			if anchor != "" && !strings.Contains(pages[to], `id="`+anchor+`"`) {
				t.Errorf("%s links to %s, and there is no such place", queue[0], link)
			}
		}
	}
	if len(pages) < len(document.Paths.Map()) {
		t.Errorf("only %d pages are linked", len(pages))
	}
}

// links returns the addresses that a page links to, and those of the files that it loads.
func links(page string) (found []string) {
	for _, m := range hrefs.FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "https://") {
			found = append(found, m[1])
		}
	}
	return found
}
