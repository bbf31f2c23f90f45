package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"payledger/cmd/payledger/ledger"
)

// TestEventsStream: with --nats-listen the service keeps every event of the log in EVENTS, at an address that the ready line names
// (I1, I2). Without it there is no such server.
func TestEventsStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := testOptions(dir)
	app, stop := startToStop(t, o)
	if url := app.ready().NATS; url != "" {
		t.Errorf("without --nats-listen the ready line has %s", url)
	}
	m := newMerchant(app.api.URL, app.credentials.APIKey)
	if _, err := m.pay(m.token(t, "order-1", 1000, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/" + ledger.AnalyticsFolder); err == nil {
		t.Error("without --nats-listen there is a folder for it")
	}
	o.NatsListen = "127.0.0.1:0"
	app = startApp(t, o)
	if url := app.ready().NATS; !strings.HasPrefix(url, "nats://127.0.0.1:") || strings.HasSuffix(url, ":0") {
		t.Errorf("the ready line has %q", url)
	}
	m.api = app.api.URL
	if _, err := m.pay(m.token(t, "order-2", 1000, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	size := app.events(t)
	eventually(t, func() bool { return app.feed.Position() >= size })
	metrics, err := http.Get(app.admin.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer metrics.Body.Close()
	text, err := io.ReadAll(metrics.Body)
	if err != nil || !bytes.Contains(text, fmt.Appendf(nil, "payledger_events_position %d\n", app.feed.Position())) || !bytes.Contains(text, []byte("payledger_events_failing 0\n")) {
		t.Errorf("the metrics lack the feed: %v", err)
	}
}

// analyst connects with credentials that analytics-user prints, and returns the stream.
func analyst(t *testing.T, app *App, dir string, arguments ...string) (*nats.Conn, jetstream.Stream) {
	t.Helper()
	status, credentials, text := invoke(t, append([]string{"analytics-user", "--data", dir}, arguments...)...)
	if status != 0 || text != "" {
		t.Fatalf("analytics-user: status %d, %s", status, text)
	}
	path := filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(path, []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(app.ready().NATS, nats.UserCredentials(path), nats.NoReconnect(), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	return conn, stream
}

// TestAnalyticsUser: the credentials read the account's events as GET /events has them, after a restart too, until another user of
// the name replaces them. Every fault is one line (I1).
func TestAnalyticsUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := testOptions(dir)
	fault := func(says string, arguments ...string) {
		t.Helper()
		status, out, text := invoke(t, append([]string{"analytics-user", "--data", dir}, arguments...)...)
		if status != 1 || out != "" || strings.Count(text, "\n") != 1 || !strings.Contains(text, says) {
			t.Errorf("%v: status %d, %s%s", arguments, status, out, text)
		}
	}
	app, stop := startToStop(t, o)
	key := app.credentials.APIKey
	fault("--nats-listen", "warehouse")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	fault("no service runs", "warehouse")
	o.NatsListen = "127.0.0.1:0"
	app, stop = startToStop(t, o)
	fault("letters, digits", "ware.house")
	fault("no account", "warehouse", "--account", "0unknown")
	first, _ := analyst(t, app, dir, "warehouse")
	closed := make(chan struct{})
	first.SetClosedHandler(func(*nats.Conn) { close(closed) })
	conn, stream := analyst(t, app, dir, "warehouse")
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("replaced credentials still have a connection")
	}
	m := newMerchant(app.api.URL, key)
	if _, err := m.pay(m.token(t, "order-1", 1000, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	m.readAsGiven(t, app, stream)
	conn.Close()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	app = startApp(t, o)
	m.api = app.api.URL
	conn, stream = analyst(t, app, dir, "books", "--account", string(app.views.Accounts()[0].ID))
	m.readAsGiven(t, app, stream)

	removed := make(chan struct{})
	conn.SetClosedHandler(func(*nats.Conn) { close(removed) })
	for _, name := range []string{"books", "warehouse"} {
		if status, out, text := invoke(t, "analytics-user", "--data", dir, name, "--remove"); status != 0 || out+text != "" {
			t.Errorf("%s --remove: status %d, %s%s", name, status, out, text)
		}
	}
	fault("no analytics user of this name", "books", "--remove")
	select {
	case <-removed:
	case <-time.After(time.Minute):
		t.Error("a removed user still has a connection")
	}
	_, stream = analyst(t, app, dir, "third")
	m.readAsGiven(t, app, stream)
}

// readAsGiven compares all events of a user's stream with those of GET /events.
func (m *merchant) readAsGiven(t *testing.T, app *App, stream jetstream.Stream) {
	t.Helper()
	var page struct {
		Data []json.RawMessage `json:"data"`
	}
	size := app.events(t)
	eventually(t, func() bool { return app.feed.Position() >= size })
	m.must(t, "GET", "/events?limit=1000", m.headers(), nil).decode(t, &page)
	consumer, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(len(page.Data), jetstream.FetchMaxWait(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for message := range batch.Messages() {
		var e struct{ Position uint64 }
		if err := json.Unmarshal(message.Data(), &e); err != nil {
			t.Fatal(err)
		}
		at, err := message.Metadata()
		if err != nil || at.Sequence.Stream != e.Position || string(page.Data[n]) != string(message.Data()) {
			t.Fatalf("message %d, %v, is\n%s\nGET /events has\n%s", n, err, message.Data(), page.Data[n])
		}
		n++
	}
	if batch.Error() != nil || n != len(page.Data) || n == 0 {
		t.Errorf("%d of %d events, %v", n, len(page.Data), batch.Error())
	}
	text := fmt.Sprintf("%s", page.Data)
	if !strings.Contains(text, `"account.analytics_user_created"`) || strings.Contains(text, "SU") && strings.Contains(text, "NKEY") {
		t.Error("the events lack the user, or have its seed")
	}
}
