//go:build !system

package feed_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"payledger/domain"
	_ "payledger/domain/scratchtest"
	"payledger/eventstore/eventstream"
)

func TestMain(m *testing.M) {
	status, err := serve(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// serve runs the tests on a server for HTTP and one for NATS with the recorded events.
func serve(m *testing.M) (status int, err error) {
	dir, err := os.MkdirTemp("", "feed")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	all, err := recorded()
	if err != nil {
		return 1, err
	}
	web := httptest.NewServer(all)
	defer web.Close()
	defer web.CloseClientConnections()
	url, apiKey = web.URL, "plk_sandbox_recorded"
	streamed, err := all.stream(filepath.Join(dir, "events"))
	if err != nil {
		return 1, err
	}
	defer streamed.Close()
	natsURL, credentials = streamed.URL(), filepath.Join(dir, "reader.creds")
	if err := addUser(streamed, all[0].AccountID, credentials); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// event is a recorded event.
type event struct {
	Position                         uint64
	AccountID                        domain.AccountID
	Type, ID, Aggregate, AggregateID string
	text                             []byte
}

// events are the recorded events, oldest first. They serve GET /events and GET /events/stream as
// the API does.
type events []event

func recorded() (all events, err error) {
	text, err := os.ReadFile("testdata/events.jsonl")
	if err != nil {
		return nil, err
	}
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		e := event{text: line}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (all events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	after, stream := r.FormValue("after"), r.URL.Path == "/events/stream"
	if stream {
		after = r.Header.Get("Last-Event-ID")
	}
	position, err := strconv.ParseUint(after, 10, 64)
	switch {
	case r.Header.Get("X-Api-Key") != apiKey:
		refuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	case err != nil || !stream && r.URL.Path != "/events" && r.URL.Path != "//events":
		refuse(w, http.StatusBadRequest, "RequestValidationError")
		return
	case position > all[len(all)-1].Position:
		refuse(w, http.StatusNotFound, "EntityNotFound")
		return
	}
	page := []json.RawMessage{}
	for _, e := range all {
		if e.Position <= position {
			continue
		}
		page = append(page, e.text)
		if stream {
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", e.Position, e.text)
		}
	}
	if !stream {
		_ = json.NewEncoder(w).Encode(map[string]any{"data": page})
		return
	}
	if err := http.NewResponseController(w).Flush(); err == nil {
		<-r.Context().Done()
	}
}

func refuse(w http.ResponseWriter, status int, id string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"errorId":%q,"description":"refused"}}`, id)
}

// stream starts a server with the stream EVENTS. Events of another account fill the gaps between
// the recorded ones.
func (all events) stream(dir string) (*eventstream.Server, error) {
	server, err := startStream(dir, "ours")
	if err != nil {
		return nil, err
	}
	writer, err := server.Connect()
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	ctx := context.Background()
	err = writer.Create(ctx, 1, 0)
	for next := uint64(1); len(all) > 0 && err == nil; next++ {
		message := eventstream.Message{Position: next, Account: "other", Type: "payment.captured", ID: "id", Body: []byte("{}")}
		if e := all[0]; e.Position == next {
			message.Account, message.Type, message.ID, message.Body, all = string(e.AccountID), e.Type, e.ID, e.text, all[1:]
			message.Subject = fmt.Sprintf("%s.%s.%s", e.AccountID, e.Aggregate, e.AggregateID)
		}
		err = writer.Publish(ctx, message)
	}
	if err == nil {
		err = writer.Flush(ctx)
	}
	return server, err
}

// startStream starts a server for analysts whose secrets depend on a name.
func startStream(dir, name string) (*eventstream.Server, error) {
	return eventstream.Start(eventstream.Config{Dir: dir, Listen: "127.0.0.1:0", Memory: 64 << 20, Derive: func(purpose string) []byte {
		sum := sha256.Sum256([]byte(name + purpose))
		return sum[:]
	}})
}

// addUser adds a user of an account, and writes the credentials file.
func addUser(server *eventstream.Server, account domain.AccountID, path string) error {
	file, key, err := server.Credentials(string(account), "reader")
	if err == nil {
		err = server.SetUsers(map[string][]eventstream.User{string(account): {{Name: "reader", Key: key}}})
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, file, 0o600)
}

// forged returns a credentials file of another server.
func forged(t *testing.T) string {
	t.Helper()
	other, err := startStream(t.TempDir(), "other")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	path := filepath.Join(t.TempDir(), "forged.creds")
	if err := addUser(other, "acct1", path); err != nil {
		t.Fatal(err)
	}
	return path
}
