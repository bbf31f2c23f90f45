package simulator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/protocol"
	"payledger/processorsim/protocol/openapitest"
	"payledger/processorsim/simulator"
)

const protocolPage = "../PROTOCOL.md"

// example is a block of code of PROTOCOL.md.
type example struct{ kind, text string }

var fenced = regexp.MustCompile("(?ms)^```([a-z]+(?: [a-z]+)?)$\n(.*?)^```$")

func examples(t *testing.T) (all []example) {
	t.Helper()
	page, err := os.ReadFile(protocolPage)
	must(t, err)
	for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		all = append(all, example{m[1], m[2]})
	}
	return all
}

// reader compares the answers of PROTOCOL.md with the simulator's. ids of the page stand for the
// simulator's, and each for one only.
type reader struct {
	t    *testing.T
	ids  map[string]string // of the page → the simulator's
	back map[string]string
}

// idFields have ids and other values that the simulator draws.
var idFields = []string{"id", "processorTransactionId", "processorEventId", "parentId", "actionToken", "processorToken", "authorizationCode", "next"}

// timeFields have times, which differ.
var timeFields = []string{"at", "createdAt", "updatedAt"}

// same compares a value of the page with the simulator's. The page may leave binData and risk out.
func (r *reader) same(where string, page, got any) {
	r.t.Helper()
	switch page := page.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, value := range object {
			if _, has := page[name]; !has && name != "binData" && name != "risk" {
				r.t.Errorf("%s: the page has no %s, the simulator %v", where, name, value)
			}
		}
		for name, value := range page {
			r.sameField(where+"."+name, name, value, object[name])
		}
	case []any:
		list, _ := got.([]any)
		if len(list) != len(page) {
			r.t.Errorf("%s: the page has %d elements, the simulator %d", where, len(page), len(list))
			return
		}
		for i := range page {
			r.same(where+"."+strconv.Itoa(i), page[i], list[i])
		}
	default:
		if !reflect.DeepEqual(page, got) {
			r.t.Errorf("%s: the page has %v, the simulator %v", where, page, got)
		}
	}
}

func (r *reader) sameField(where, name string, page, got any) {
	r.t.Helper()
	text, isText := page.(string)
	actual, _ := got.(string)
	switch {
	case isText && slices.Contains(timeFields, name):
		if at, err := time.Parse(time.RFC3339Nano, text); err != nil || at.Location() != time.UTC || actual == "" {
			r.t.Errorf("%s: %q and %q are not times in UTC", where, text, actual)
		}
	case isText && text != "" && slices.Contains(idFields, name):
		if known, has := r.ids[text]; has && known != actual || r.back[actual] != "" && r.back[actual] != text || actual == "" {
			r.t.Errorf("%s: the page has %q, the simulator %q", where, text, actual)
		}
		r.ids[text], r.back[actual] = actual, text
	default:
		r.same(where, page, got)
	}
}

func (r *reader) parse(text string) (value any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		r.t.Fatalf("%v\n%s", err, text)
	}
	return value
}

// TestExamples: the simulator answers the requests of PROTOCOL.md, in their order, as the page
// shows, and sends its notification. Each message fits openapi.yaml.
func TestExamples(t *testing.T) {
	b, r := newBench(t), newReceiver(t)
	read := &reader{t: t, ids: map[string]string{}, back: map[string]string{}}
	client := openapitest.Client(t, nil)
	t.Cleanup(client.CloseIdleConnections)
	status, body, n := 0, "", 0
	for _, e := range examples(t) {
		switch e.kind {
		case "http request":
			status, body = read.send(client, b.server.URL, r.URL, e.text)
		case "http answer":
			code, text, _ := strings.Cut(e.text, "\n")
			if n++; code != strconv.Itoa(status) {
				t.Fatalf("the simulator answers %d %s, the page has %s", status, body, e.text)
			}
			if text = strings.TrimSpace(text); text == "" && body == "" {
				continue // an empty list
			}
			read.same("answer "+strconv.Itoa(n), read.parse(text), read.parse(body))
		case "http notification":
			b.clock.Advance(2 * time.Second)
			came := <-r.received
			r.status <- http.StatusOK
			_, text, _ := strings.Cut(e.text, "\n\n")
			read.same("notification", read.parse(text), read.parse(string(came.body)))
			must(t, openapitest.FitsRules("Notification", came.body))
			if _, err := adapter.ParseNotification(secret, processor.Adyen, signedHeader(secret, text), []byte(text)); err != nil {
				t.Errorf("the ledger refuses the page's notification: %v", err)
			}
		}
	}
	if n < 20 {
		t.Errorf("PROTOCOL.md has %d answers", n)
	}
}

// send sends a request of the page, with the simulator's ids.
func (r *reader) send(client *http.Client, server, notifyURL, text string) (int, string) {
	r.t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	for page, actual := range r.ids {
		body = strings.ReplaceAll(body, `"`+page+`"`, `"`+actual+`"`)
	}
	body = strings.ReplaceAll(strings.TrimSpace(body), "http://127.0.0.1:8080", notifyURL)
	request, err := http.NewRequestWithContext(r.t.Context(), method, server+path, strings.NewReader(body))
	must(r.t, err)
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	answer, err := client.Do(request)
	must(r.t, err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	must(r.t, err)
	return answer.StatusCode, strings.TrimSpace(string(got))
}

func signedHeader(secret []byte, body string) http.Header {
	return http.Header{protocol.HeaderSignature: {protocol.Sign(secret, []byte(body))}}
}

// TestExampleDispute: the ledger reads the dispute of PROTOCOL.md, in the protocol's own form.
func TestExampleDispute(t *testing.T) {
	i := slices.IndexFunc(examples(t), func(e example) bool { return e.kind == "json dispute" })
	text := examples(t)[i].text
	n, err := adapter.ParseNotification(secret, processor.Adyen, signedHeader(secret, text), []byte(text))
	must(t, err)
	if n.Unreadable != "" || n.Dispute == nil || n.Dispute.Amount != 500 || n.Additional != "" {
		t.Errorf("%+v", n)
	}
	var whole struct{ Dispute json.RawMessage }
	must(t, json.Unmarshal([]byte(text), &whole))
	must(t, openapitest.FitsRules("Notification", []byte(text)))
	must(t, openapitest.FitsRules("Dispute", whole.Dispute))
}

// TestExampleSignature: the test vector of PROTOCOL.md.
func TestExampleSignature(t *testing.T) {
	i := slices.IndexFunc(examples(t), func(e example) bool { return e.kind == "text signature" })
	fields := map[string]string{}
	for line := range strings.Lines(examples(t)[i].text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		fields[name] = strings.TrimSpace(value)
	}
	if want := protocol.Sign([]byte(fields["secret"]), []byte(fields["body"])); fields["signature"] != want {
		t.Errorf("the page has the signature %s, want %s", fields["signature"], want)
	}
	if _, err := adapter.ParseNotification([]byte(fields["secret"]), processor.Adyen, signedHeader([]byte(fields["secret"]), fields["body"]), []byte(fields["body"])); err != nil {
		t.Error(err)
	}
}

// TestExampleToken: a request without the token is refused as PROTOCOL.md says, whatever its path.
func TestExampleToken(t *testing.T) {
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), Secret: secret, Token: "token"})
	must(t, err)
	defer sim.Close()
	for _, path := range []string{"/v1/processors/ADYEN", "/v1/processors/NOBODY", "/nothing"} {
		answer := httptest.NewRecorder()
		sim.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != http.StatusUnauthorized || !strings.Contains(answer.Body.String(), protocol.CodeUnauthorized) {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
}

// TestProtocolPage: the page names every code, state, capability, test card, field and limit.
func TestProtocolPage(t *testing.T) {
	page, err := os.ReadFile(protocolPage)
	must(t, err)
	names := []string{
		protocol.HeaderIdempotencyKey, protocol.HeaderSignature, fmt.Sprintf("%d KiB", protocol.MaxBody>>10), fmt.Sprintf("%d MiB", protocol.MaxEntries>>20),
		fmt.Sprintf("disputes of a page | %d |", protocol.MaxDisputePage), fmt.Sprintf("version %d", protocol.Version),
	}
	quoted := func(value string) { names = append(names, "`"+value+"`") }
	for _, schema := range openapitest.Document(t).Components.Schemas {
		for _, value := range schema.Value.Enum {
			quoted(value.(string))
		}
		for name, property := range schema.Value.Properties {
			if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), `"`+name+`"`) {
				t.Errorf("PROTOCOL.md does not have the field %s", name)
			}
			for _, value := range property.Value.Enum {
				quoted(value.(string))
			}
		}
	}
	for _, c := range protocol.TestCases {
		quoted(string(c))
	}
	for _, file := range []string{"../protocol/error.go", "../protocol/declaration.go"} {
		source, err := os.ReadFile(file)
		must(t, err)
		for _, m := range regexp.MustCompile(`Code\w+ +Code += "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
			quoted(m[1])
		}
	}
	quoted(processor.CodeVoided)
	quoted(processor.CodeFenced)
	quoted(processor.CodeNoAction)
	for _, name := range names {
		if !strings.Contains(string(page), name) {
			t.Errorf("PROTOCOL.md does not have %s", name)
		}
	}
	if len(names) < 60 {
		t.Errorf("%d names were looked for", len(names))
	}
}
