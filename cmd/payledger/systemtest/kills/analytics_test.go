//go:build system

package kills

import (
	"bytes"
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

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
)

// TestEventsStream: with --nats-listen the service keeps every event of the log in EVENTS, at an
// address that the ready line names (I1, I2). Without it there is no such server.
func TestEventsStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := apptest.TestOptions(dir)
	app, stop := apptest.StartToStop(t, o)
	if url := app.Ready().NATS; url != "" {
		t.Errorf("without --nats-listen the ready line has %s", url)
	}
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	if _, err := m.Pay(m.Token(t, "order-1", 1000, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/" + ledger.AnalyticsFolder); err == nil {
		t.Error("without --nats-listen there is a folder for it")
	}
	o.NatsListen = "127.0.0.1:0"
	app = apptest.StartApp(t, o)
	if url := app.Ready().NATS; !strings.HasPrefix(url, "nats://127.0.0.1:") || strings.HasSuffix(url, ":0") {
		t.Errorf("the ready line has %q", url)
	}
	m.API = app.API.URL
	if _, err := m.Pay(m.Token(t, "order-2", 1000, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	size := apptest.Events(t, app)
	apptest.Until(t, apptest.SettleDeadline, fmt.Sprintf("the feed at position %d", size), func() (bool, string) {
		position := app.Feed.Position()
		return position >= size, fmt.Sprint("it is at ", position)
	})
	metrics, err := http.Get(app.Admin.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer metrics.Body.Close()
	text, err := io.ReadAll(metrics.Body)
	if err != nil || !bytes.Contains(text, fmt.Appendf(nil, "payledger_events_position %d\n", app.Feed.Position())) || !bytes.Contains(text, []byte("payledger_events_failing 0\n")) {
		t.Errorf("the metrics lack the feed: %v", err)
	}
}

// analyst connects with credentials that analytics-user prints, and returns the stream.
func analyst(t *testing.T, app *app.App, dir string, arguments ...string) (*nats.Conn, jetstream.Stream) {
	t.Helper()
	status, credentials, text := apptest.Invoke(t, append([]string{"analytics-user", "--data", dir}, arguments...)...)
	if status != 0 || text != "" {
		t.Fatalf("analytics-user: status %d, %s", status, text)
	}
	path := filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(path, []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(app.Ready().NATS, nats.UserCredentials(path), nats.NoReconnect(), nats.Timeout(time.Minute))
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

// TestAnalyticsUser: the credentials read the account's events as GET /events has them, after a
// restart too, until another user of the name replaces them. Every fault is one line (I1).
func TestAnalyticsUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := apptest.TestOptions(dir)
	fault := func(says string, arguments ...string) {
		t.Helper()
		status, out, text := apptest.Invoke(t, append([]string{"analytics-user", "--data", dir}, arguments...)...)
		if status != 1 || out != "" || strings.Count(text, "\n") != 1 || !strings.Contains(text, says) {
			t.Errorf("%v: status %d, %s%s", arguments, status, out, text)
		}
	}
	app, stop := apptest.StartToStop(t, o)
	key := app.Credentials.APIKey
	fault("--nats-listen", "warehouse")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	fault("no service runs", "warehouse")
	o.NatsListen = "127.0.0.1:0"
	app, stop = apptest.StartToStop(t, o)
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
	m := apptest.NewMerchant(app.API.URL, key)
	if _, err := m.Pay(m.Token(t, "order-1", 1000, "4111111111111111"), ""); err != nil {
		t.Fatal(err)
	}
	m.ReadAsGiven(t, app, stream)
	conn.Close()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	app = apptest.StartApp(t, o)
	m.API = app.API.URL
	conn, stream = analyst(t, app, dir, "books", "--account", string(app.Views.Accounts()[0].ID))
	m.ReadAsGiven(t, app, stream)

	removed := make(chan struct{})
	conn.SetClosedHandler(func(*nats.Conn) { close(removed) })
	for _, name := range []string{"books", "warehouse"} {
		if status, out, text := apptest.Invoke(t, "analytics-user", "--data", dir, name, "--remove"); status != 0 || out+text != "" {
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
	m.ReadAsGiven(t, app, stream)
}
