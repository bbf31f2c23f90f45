package servicetest

import (
	"net/http"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/eventstore/eventstoretest"
)

// TestPostmanCollection: every request of the collection gets a success from the whole service,
// with its variables filled in.
func TestPostmanCollection(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := apptest.NewReader(t)
	var collection struct {
		Variable []apptest.PostmanValue
		Item     []struct {
			Item []struct {
				Name    string
				Request apptest.PostmanRequest
			}
		}
	}
	r.Must(t, "GET", "/docs/payledger.postman_collection.json", nil, nil).Decode(t, &collection)
	if len(collection.Variable) == 0 || collection.Variable[0].Key != "url" || collection.Variable[0].Value != strings.TrimSuffix(r.API, "/") {
		t.Errorf("the variables are %v", collection.Variable)
	}
	played := 0
	for late := range 2 { // settings, routing and processors come last: they change how payments are made
		for _, folder := range collection.Item {
			for _, item := range folder.Item {
				q := item.Request
				operation, path := r.OperationOf(t, q)
				changes := q.Method != http.MethodGet && (strings.Contains(path, "/settings") || strings.Contains(path, "/routing") || strings.Contains(path, "/processors"))
				if changes != (late == 1) || strings.HasSuffix(path, "/stream") {
					continue // a stream has no end
				}
				played++
				status, body := r.Postman(q, operation, path)
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
