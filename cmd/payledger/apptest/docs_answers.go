package apptest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"payledger/notifier/signature"
)

// Captured creates a payment and captures it.
func (r *Reader) Captured() string {
	r.T.Helper()
	payment := r.Paid(PlainCard, nil)
	r.Must(r.T, "POST", "/payments/"+payment+"/capture", r.Headers(), nil)
	return payment
}

// PostmanRequest is a request of the collection, as Postman and Bruno read it.
type PostmanRequest struct {
	Method string
	Auth   *struct{ Type string }
	Header []PostmanValue
	URL    struct {
		Raw             string
		Query, Variable []PostmanValue
	}
	Body *struct{ Raw string }
}

// PostmanValue is a query parameter or a variable of a request.
type PostmanValue struct {
	Key, Value string
	Disabled   bool
}

// held puts the examples' values into the places of the collection's variables.
var held = strings.NewReplacer(
	"{{paymentMethodToken}}", ExampleToken, "{{paymentId}}", ExamplePayment, "{{attemptId}}", exampleAttempt, "{{apiKeyId}}", exampleKey,
	"{{endpointId}}", exampleEndpoint, "{{deliveryId}}", exampleDelivery, "{{replayId}}", exampleReplay, "{{disputeId}}", ExampleDispute,
	"{{workflowId}}", exampleWorkflow, "{{userId}}", exampleUser, "{{listenerId}}", exampleListener, "{{comparisonId}}", exampleComparison,
	"{{clientToken}}", exampleClientToken, "{{resumeToken}}", exampleClientToken, "{{webhookUrl}}", "https://shop.example/webhooks", "{{$timestamp}}", "1",
)

// OperationOf returns the operationId and path in openapi.yaml of a request of the collection.
func (r *Reader) OperationOf(t *testing.T, q PostmanRequest) (operation, path string) {
	t.Helper()
	raw, _, _ := strings.Cut(strings.TrimPrefix(q.URL.Raw, "{{url}}"), "?")
	segments := strings.Split(raw, "/")
	for i, s := range segments {
		if name, is := strings.CutPrefix(s, ":"); is {
			segments[i] = "{" + name + "}"
		}
	}
	path = strings.Join(segments, "/")
	for p, item := range OpenAPI(t).Paths.Map() {
		if p == path {
			return item.GetOperation(q.Method).OperationID, path
		}
	}
	t.Fatalf("openapi.yaml has no %s", path)
	return "", ""
}

// Postman sends a request as Postman does.
func (r *Reader) Postman(q PostmanRequest, operation, path string) (status int, body string) {
	r.T.Helper()
	sent := ""
	if q.Body != nil {
		sent = held.Replace(q.Body.Raw)
	}
	mine := r.Given(operation, path)
	header := map[string]string{}
	if q.Auth == nil {
		header["X-API-KEY"] = r.Key
	}
	address := strings.ReplaceAll(strings.TrimPrefix(q.URL.Raw, "{{url}}"), "{{clientToken}}", mine["CLIENT_TOKEN"])
	address = held.Replace(address)
	for _, v := range q.URL.Variable {
		address = strings.Replace(address, ":"+v.Key, held.Replace(v.Value), 1)
	}
	if operation == "receiveProcessorNotification" {
		mine = r.Signed("-d '" + sent + "'")
	}
	for example, value := range mine {
		if example != "CLIENT_TOKEN" {
			address, sent = strings.ReplaceAll(address, example, value), strings.ReplaceAll(sent, example, value)
		}
	}
	for _, h := range q.Header {
		value := strings.NewReplacer("{{clientToken}}", mine["CLIENT_TOKEN"], "{{actionToken}}", mine["CLIENT_TOKEN"]).Replace(h.Value)
		header[h.Key] = strings.ReplaceAll(value, "$SIGNATURE", mine["SIGNATURE"])
	}
	got, err := r.Call(q.Method, address, header, sent)
	if err != nil {
		r.T.Fatal(err)
	}
	return got.Status, string(got.Body)
}

// Receiver listens on this machine as a reader does. It verifies each webhook before it passes it
// on.
func Receiver(t *testing.T, secret string) (url string, bodies <-chan string) {
	t.Helper()
	received := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = signature.Verify(r.Header, body, time.Now(), secret)
		}
		if err != nil {
			http.Error(w, "not verified", http.StatusBadRequest)
			return
		}
		received <- string(body)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/webhooks", received
}
