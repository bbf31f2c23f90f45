package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"payledger/httpapi/client"
	"payledger/httpapi/reference"
)

// offered are the operations of openapi.yaml that are tools.
var offered = []string{
	"search", "listPayments", "getPayment", "getPaymentEvents", "listEvents", "listDisputes", "getDispute", "getStatistics",
	"listWebhookDeliveries", "getWebhookDelivery", "listWebhookEndpoints", "getWebhookReplay", "listWorkflows", "getWorkflow", "listWorkflowRuns",
	"getRouting", "listProcessors", "getSettings", "listAuditLog",
}

// answerLimit is the greatest size of an answer that goes to the assistant, in bytes: more would
// fill what it can read.
const answerLimit = 256 << 10

// pageSize is the size of a page for an assistant that names none: the API's own fills too much of
// what an assistant can read.
const (
	pageSize  = 20
	pageLimit = "limit" // the parameter with the size of a page
)

type operation struct{ reference.Read }

func (s *server) addOperations(api *client.Client) error {
	reads, err := reference.Reads()
	if err != nil {
		return err
	}
	for _, id := range offered {
		read, known := reads[id]
		if !known {
			return fmt.Errorf("mcp: openapi.yaml has no operation %s", id)
		}
		one := operation{read}
		s.add(tool{
			Name: toolName(id), Title: read.Summary, Description: read.Summary + ". " + read.Description, InputSchema: one.schema(),
			call: func(ctx context.Context, in map[string]any) (string, error) { return one.call(ctx, api, in) },
		})
	}
	return nil
}

// add adds a tool, which changes nothing and stays within the ledger.
func (s *server) add(t tool) {
	t.Annotations = map[string]any{"readOnlyHint": true, "idempotentHint": true, "destructiveHint": false, "openWorldHint": false}
	s.tools[t.Name] = t
}

// toolName writes getPaymentEvents as get_payment_events.
func toolName(operation string) string {
	var name strings.Builder
	for _, r := range operation {
		if unicode.IsUpper(r) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}

// schema returns the JSON Schema of the tool's input. The server checks formats and limits itself,
// with better messages.
func (o operation) schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, p := range o.Parameters {
		one := maps.Clone(p.Schema)
		if p.Description != "" {
			one["description"] = p.Description
		}
		switch {
		case p.Name == pageLimit:
			one["description"] = fmt.Sprintf("How many a page has at most. Default: %d.", pageSize)
		case p.Default != nil: // in words: an assistant need not send it
			one["description"] = fmt.Sprintf("%s Default: %v.", p.Description, p.Default)
		}
		properties[p.Name] = one
		if p.Required {
			required = append(required, p.Name)
		}
	}
	all := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		all["required"] = required
	}
	return all
}

// call calls the API, and returns its answer as JSON text. An error of the API is an answer for the
// assistant, too.
func (o operation) call(ctx context.Context, api *client.Client, in map[string]any) (string, error) {
	path, query := o.Path, url.Values{}
	for _, p := range o.Parameters {
		value := in[p.Name]
		if value == nil && p.Name == pageLimit {
			value = json.Number(strconv.Itoa(pageSize))
		}
		if value == nil {
			continue
		}
		texts, err := textsOf(value)
		switch {
		case err != nil:
			return "", fmt.Errorf("%s: %w", p.Name, err)
		case p.InPath:
			path = strings.ReplaceAll(path, "{"+p.Name+"}", segment(strings.Join(texts, ",")))
		default:
			query[p.Name] = texts
		}
	}
	text, err := read(ctx, api, path, query)
	if err != nil {
		return "", err
	}
	text = withoutTokens(text)
	if len(text) > answerLimit {
		return "", fmt.Errorf("the answer has %d bytes, more than the %d that are given to an assistant; use a smaller limit or more filters", len(text), answerLimit)
	}
	return string(text), nil
}

// segment escapes a value as one segment of a path: "." and ".." would lead to another path.
func segment(value string) string {
	if value == "" || strings.Trim(value, ".") == "" {
		return strings.Repeat("%2E", max(1, len(value)))
	}
	return url.PathEscape(value)
}

func textsOf(value any) ([]string, error) {
	list, many := value.([]any)
	if !many {
		list = []any{value}
	}
	var texts []string
	for _, one := range list {
		switch one := one.(type) {
		case string:
			texts = append(texts, one)
		case bool, json.Number:
			texts = append(texts, fmt.Sprint(one))
		case float64:
			text, err := json.Marshal(one)
			if err != nil {
				return nil, err
			}
			texts = append(texts, string(text))
		default:
			return nil, fmt.Errorf("%v is not a text, a number or a boolean", one)
		}
	}
	return texts, nil
}

func read(ctx context.Context, api *client.Client, path string, query url.Values) ([]byte, error) {
	answer, err := api.Do(ctx, client.Request{Method: http.MethodGet, Path: path, Query: query})
	if err != nil {
		return nil, explained(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit*16+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer broke off: %w", err)
	case len(text) > answerLimit*16: // tokens cannot be found in a part of an answer
		return nil, fmt.Errorf("the answer has more than %d bytes; use a smaller limit or more filters", answerLimit*16)
	}
	return text, nil
}
