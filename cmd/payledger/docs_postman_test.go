package main

import (
	"net/http"
	"strings"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// postmanRequest is a request of the collection, as Postman and Bruno read it.
type postmanRequest struct {
	Method string
	Auth   *struct{ Type string }
	Header []postmanValue
	URL    struct {
		Raw             string
		Query, Variable []postmanValue
	}
	Body *struct{ Raw string }
}

type postmanValue struct {
	Key, Value string
	Disabled   bool
}

// TestPostmanCollection: every request of the collection gets a success from the whole service, with its variables filled in.
func TestPostmanCollection(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newReader(t)
	var collection struct {
		Variable []postmanValue
		Item     []struct {
			Item []struct {
				Name    string
				Request postmanRequest
			}
		}
	}
	r.must(t, "GET", "/docs/payledger.postman_collection.json", nil, nil).decode(t, &collection)
	if len(collection.Variable) == 0 || collection.Variable[0].Key != "url" || collection.Variable[0].Value != strings.TrimSuffix(r.api, "/") {
		t.Errorf("the variables are %v", collection.Variable)
	}
	played := 0
	for late := range 2 { // settings, routing and processors come last: they change how payments are made
		for _, folder := range collection.Item {
			for _, item := range folder.Item {
				q := item.Request
				operation, path := r.operationOf(t, q)
				changes := q.Method != http.MethodGet && (strings.Contains(path, "/settings") || strings.Contains(path, "/routing") || strings.Contains(path, "/processors"))
				if changes != (late == 1) || strings.HasSuffix(path, "/stream") {
					continue // a stream has no end
				}
				played++
				status, body := r.postman(q, operation, path)
				if status != http.StatusOK && status != http.StatusAccepted {
					t.Errorf("%s is answered %d %s", item.Name, status, body)
				}
			}
		}
	}
	if played < 60 {
		t.Errorf("only %d requests were sent", played)
	}
}

// operationOf returns the operationId and path in openapi.yaml of a request of the collection.
func (r *reader) operationOf(t *testing.T, q postmanRequest) (operation, path string) {
	t.Helper()
	raw, _, _ := strings.Cut(strings.TrimPrefix(q.URL.Raw, "{{url}}"), "?")
	segments := strings.Split(raw, "/")
	for i, s := range segments {
		if name, is := strings.CutPrefix(s, ":"); is {
			segments[i] = "{" + name + "}"
		}
	}
	path = strings.Join(segments, "/")
	for p, item := range openAPI(t).Paths.Map() {
		if p == path {
			return item.GetOperation(q.Method).OperationID, path
		}
	}
	t.Fatalf("openapi.yaml has no %s", path)
	return "", ""
}

// postman sends a request as Postman does.
func (r *reader) postman(q postmanRequest, operation, path string) (status int, body string) {
	r.t.Helper()
	sent := ""
	if q.Body != nil {
		sent = q.Body.Raw
	}
	mine := r.given(operation, path)
	header := map[string]string{}
	if q.Auth == nil {
		header["X-API-KEY"] = r.key
	}
	address := strings.TrimPrefix(q.URL.Raw, "{{url}}")
	for _, v := range q.URL.Variable {
		address = strings.Replace(address, ":"+v.Key, v.Value, 1)
	}
	if operation == "receiveProcessorNotification" {
		mine = r.signed("-d '" + sent + "'")
	}
	for example, value := range mine {
		if example != "CLIENT_TOKEN" {
			address, sent = strings.ReplaceAll(address, example, value), strings.ReplaceAll(sent, example, value)
		}
	}
	for _, h := range q.Header {
		value := strings.ReplaceAll(h.Value, "{{clientToken}}", mine["CLIENT_TOKEN"])
		header[h.Key] = strings.ReplaceAll(value, "$SIGNATURE", mine["SIGNATURE"])
	}
	address = strings.ReplaceAll(address, "{{clientToken}}", mine["CLIENT_TOKEN"])
	got, err := r.call(q.Method, address, header, sent)
	if err != nil {
		r.t.Fatal(err)
	}
	return got.status, string(got.body)
}
