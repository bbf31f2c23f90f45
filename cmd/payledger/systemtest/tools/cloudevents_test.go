//go:build system

package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/childtest"
	"payledger/projections/eventjson/eventjsontest"
)

// TestCloudEvents: the Go SDK of CloudEvents takes every message of the stream EVENTS for a valid
// event, the one of GET /events. The headers fit asyncapi.yaml, and would not without one of them
// (I2).
func TestCloudEvents(t *testing.T) {
	t.Parallel()
	program, there := apptest.BuildClient(t, "cloudevents")
	if !there {
		return
	}
	app, m, credentials := warehouse(t, "4111111111111111", "4000000000000002")
	var page struct {
		Data []json.RawMessage
	}
	m.Must(t, "GET", "/events?limit=1000", m.Headers(), nil).Decode(t, &page)

	at := t.TempDir()
	apptest.WriteClient(t, at, "read.creds", []byte(credentials))
	command := childtest.Tied(exec.CommandContext(t.Context(), program, app.Ready().NATS, filepath.Join(at, "read.creds")))
	command.Stderr = os.Stderr
	said, err := command.Output()
	if err != nil {
		t.Fatalf("the SDK refuses a message: %v", err)
	}
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	if len(lines) != len(page.Data) || len(lines) < 10 {
		t.Fatalf("the SDK reads %d events, GET /events has %d", len(lines), len(page.Data))
	}
	for i, line := range lines {
		if err := sameCloudEvent(line, page.Data[i]); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// sameCloudEvent compares an event that the SDK has read with the event of GET /events, and checks
// its headers.
func sameCloudEvent(line, event []byte) error {
	var read struct {
		ID, Type, Source, Subject, ContentType string

		Time    time.Time
		Data    json.RawMessage
		Headers map[string][]string
	}
	var want struct {
		ID, Type, AccountID, Aggregate, AggregateID, Hash string

		Time               time.Time
		Position, Revision uint64
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return err
	}
	if err := json.Unmarshal(event, &want); err != nil {
		return err
	}
	headers := map[string]any{}
	for name, values := range read.Headers {
		headers[name] = strings.Join(values, ",")
	}
	subject := want.AccountID + "." + want.Aggregate + "." + want.AggregateID
	got := []any{read.ID, read.Type, read.Source, read.Subject, read.ContentType, read.Time, headers["Ledger-Position"], headers["Ledger-Revision"], headers["Ledger-Hash"], headers["ce-dataschema"]}
	expected := []any{want.ID, want.Type, "/payledger", subject, "application/json", want.Time, fmt.Sprint(want.Position), fmt.Sprint(want.Revision), want.Hash, "urn:payledger:event:1:" + want.Type}
	if fmt.Sprint(got) != fmt.Sprint(expected) || !bytes.Equal(read.Data, event) {
		return fmt.Errorf("%v, GET /events has %v, %s", got, expected, event)
	}
	if err := eventjsontest.CheckHeaders(headers); err != nil {
		return err
	}
	for name := range headers {
		if strings.HasPrefix(name, "Nats-") { // the server's own
			continue
		}
		fewer := maps.Clone(headers)
		delete(fewer, name)
		if eventjsontest.CheckHeaders(fewer) == nil {
			return fmt.Errorf("asyncapi.yaml does not ask for the header %s", name)
		}
	}
	return nil
}
