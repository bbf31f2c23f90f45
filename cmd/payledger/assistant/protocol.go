package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// protocolVersions are the versions of the Model Context Protocol that the server speaks, the
// newest one first. They differ in parts that it does not have.
var protocolVersions = []string{"2025-06-18", "2025-03-26", "2024-11-05"}

// message is a request or a notification, or, with neither, an answer. Requests have an id.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// fault is an error of the protocol (JSON-RPC 2.0).
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *fault) Error() string { return f.Message }

// The codes of faults.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotFound       = -32002 // of resources
)

// valid reports whether the message is one of JSON-RPC 2.0.
func (m *message) valid() bool {
	id := bytes.TrimSpace(m.ID)
	named := len(id) > 0 && (id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9')
	return m.Version == "2.0" && (m.Method != "" && (named || len(id) == 0) || m.Method == "" && named && (len(m.Result) > 0 || len(m.Error) > 0))
}

// tool is one thing that the assistant can do. Its text is an answer, and so is its error.
type tool struct {
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
	Annotations map[string]any `json:"annotations"`

	call func(ctx context.Context, in map[string]any) (string, error)
}

// resource is a text with an address, or with a template of addresses.
type resource struct {
	URI         string `json:"uri,omitempty"`
	Template    string `json:"uriTemplate,omitempty"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

// server answers the requests of one assistant.
type server struct {
	version      string
	instructions string
	tools        map[string]tool
	resources    []resource
	read         func(uri string) (string, error) // the text of a resource

	to      io.Writer // one message at a time
	mu      sync.Mutex
	running map[string]context.CancelFunc // by the id of the request
	calls   sync.WaitGroup
}

// run answers the messages until their end, and then waits for the answers of the requests that
// came before it. If ctx ends, it returns at once.
func (s *server) run(ctx context.Context, messages io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan error, 1)
	go func() {
		err := s.receive(ctx, json.NewDecoder(messages))
		s.calls.Wait()
		over <- err
	}()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receive starts an answer for each request.
func (s *server) receive(ctx context.Context, from *json.Decoder) error {
	for {
		var m message
		if err := from.Decode(&m); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch {
		case m.Method == "notifications/cancelled":
			var of struct {
				ID json.RawMessage `json:"requestId"`
			}
			if json.Unmarshal(m.Params, &of) == nil {
				s.cancel(string(of.ID))
			}
		case m.Method == "" || len(m.ID) == 0: // an answer, or another notification
		default:
			call, end := s.begin(ctx, string(m.ID))
			s.calls.Go(func() {
				defer end()
				s.reply(call, m)
			})
		}
	}
}

func (s *server) begin(ctx context.Context, id string) (context.Context, func()) {
	call, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = cancel
	return call, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, id)
		cancel()
	}
}

func (s *server) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[id]; cancel != nil {
		cancel()
	}
}

// reply answers a request, unless it was cancelled.
func (s *server) reply(ctx context.Context, m message) {
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	result, err := s.answer(ctx, m)
	if ctx.Err() != nil {
		return
	}
	if answer["result"] = result; err != nil {
		delete(answer, "result")
		f, is := errors.AsType[*fault](err)
		if !is {
			f = &fault{Code: codeInternal, Message: err.Error()}
		}
		answer["error"] = f
	}
	text, err := json.Marshal(answer)
	if err == nil {
		_, _ = s.to.Write(append(text, '\n')) // an assistant that reads no more ends the input
	}
}

// answer returns the result of a request.
func (s *server) answer(ctx context.Context, m message) (any, error) {
	var in struct {
		Version   string         `json:"protocolVersion"`
		Name      string         `json:"name"`
		URI       string         `json:"uri"`
		Arguments map[string]any `json:"arguments"`
	}
	if len(m.Params) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(m.Params))
		decoder.UseNumber()
		if err := decoder.Decode(&in); err != nil {
			return nil, &fault{Code: codeInvalidParams, Message: "The params cannot be read: " + err.Error()}
		}
	}
	switch m.Method {
	case "initialize":
		if !slices.Contains(protocolVersions, in.Version) {
			in.Version = protocolVersions[0]
		}
		return map[string]any{
			"protocolVersion": in.Version, "instructions": s.instructions, "capabilities": map[string]any{"tools": map[string]any{}, "resources": map[string]any{}},
			"serverInfo": map[string]any{"name": "payledger", "title": "payledger", "version": s.version},
		}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		var all []tool
		for _, t := range s.tools {
			all = append(all, t)
		}
		slices.SortFunc(all, func(a, b tool) int { return strings.Compare(a.Name, b.Name) })
		return map[string]any{"tools": all}, nil
	case "tools/call":
		t, known := s.tools[in.Name]
		if !known {
			return nil, &fault{Code: codeInvalidParams, Message: fmt.Sprintf("There is no tool %q; tools/list has all.", in.Name)}
		}
		return t.result(ctx, in.Arguments), nil
	case "resources/list":
		return map[string]any{"resources": s.listed(false)}, nil
	case "resources/templates/list":
		return map[string]any{"resourceTemplates": s.listed(true)}, nil
	case "resources/read":
		text, err := s.read(in.URI)
		if err != nil {
			return nil, &fault{Code: codeNotFound, Message: err.Error(), Data: map[string]any{"uri": in.URI}}
		}
		return map[string]any{"contents": []any{map[string]any{"uri": in.URI, "mimeType": markdown, "text": text}}}, nil
	}
	return nil, &fault{Code: codeMethodNotFound, Message: fmt.Sprintf("There is no method %q.", m.Method)}
}

// listed returns the resources with a template, or those without.
func (s *server) listed(templates bool) (all []resource) {
	for _, r := range s.resources {
		if (r.Template != "") == templates {
			all = append(all, r)
		}
	}
	return all
}

// result calls a tool. Arguments that its schema does not have, and missing ones, are errors for
// the assistant.
func (t tool) result(ctx context.Context, in map[string]any) any {
	text, err := "", t.fits(in)
	if err == nil {
		text, err = t.call(ctx, in)
	}
	if err != nil {
		text = err.Error()
	}
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": err != nil}
}

// fits compares the names of the arguments with the schema. The API checks their values.
func (t tool) fits(in map[string]any) error {
	properties, _ := t.InputSchema["properties"].(map[string]any)
	for name := range in {
		if properties[name] == nil {
			return fmt.Errorf("the tool %s has no argument %q", t.Name, name)
		}
	}
	required, _ := t.InputSchema["required"].([]string)
	for _, name := range required {
		if in[name] == nil {
			return fmt.Errorf("the tool %s needs the argument %q", t.Name, name)
		}
	}
	return nil
}
