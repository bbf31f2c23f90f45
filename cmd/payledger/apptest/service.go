package apptest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/eventstore"
	"payledger/eventstore/commands/accounts"
	"payledger/eventstore/commands/accounts/accountstest"
	"payledger/eventstore/commands/reconcile/reconciletest"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/notifier"
	"payledger/processorsim/adapter"
	"payledger/projections/eventjson/eventjsontest"
)

// TestOptions run the service on free ports, with webhooks to this machine allowed.
func TestOptions(dir string) options.Options {
	return options.Options{
		Data: dir, Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", SimListen: "127.0.0.1:0", Environment: account.Sandbox,
		PaymentTimeout: 90 * time.Second, ActionTimeout: 24 * time.Hour, ClientTokenTTL: 24 * time.Hour, WebhookTimeout: 10 * time.Second, DisputeLookup: time.Minute, WriteTimeout: options.DefaultWriteTimeout,
		DeliveryRetention: notifier.DefaultRetention, ReadTimeout: time.Minute,
		WebhookAllowCIDR: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, LogLevel: "warn", LogFormat: "console",
	}
}

// StartApp starts the service in this process for the test's life. A new data folder is filled as
// init does.
func StartApp(t testing.TB, o options.Options) *app.App {
	t.Helper()
	made := Initialized(t, o.Data)
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
	app, err := app.Start(context.Background(), o, log)
	if err != nil {
		t.Fatal(err)
	}
	if made != nil {
		app.Credentials = made
	}
	t.Cleanup(func() {
		eventjsontest.CheckLog(t, app.Ledger.Store)
		reconciled(t, app)
		if err := app.Stop(); err != nil {
			t.Error(err)
		}
	})
	return app
}

// mostCompared is the largest number of events of a log that is compared with the books: tests of
// the load have more.
const mostCompared = 5000

// reconciled compares the ledger with the books of every processor that was used.
func reconciled(t testing.TB, a *app.App) {
	t.Helper()
	if a.Ledger.Store.Events() > mostCompared {
		return
	}
	lines, err := a.Processors.Control().Books(context.Background(), adapter.Filter{})
	if err != nil {
		return // the test has no simulator, or has stopped it
	}
	used := map[processor.Name]bool{}
	for _, line := range lines {
		used[line.Processor] = true
	}
	reconciletest.Check(t, a.Ledger.Store, a.Processors, used)
}

// Initialized fills an empty data folder with a ledger that has its account; nil when the folder
// has one.
func Initialized(t testing.TB, dir string) *accounts.Credentials {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return nil
	}
	made := accountstest.Initialized(t, filepath.Join(dir, ledger.EventsFolder))
	if err := os.WriteFile(filepath.Join(dir, "master.key"), []byte(eventstoretest.MasterKey.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	return &made
}

// Events returns the number of events in the log.
func Events(t testing.TB, a *app.App) uint64 {
	t.Helper()
	for shard := range a.Ledger.Store.Shards() {
		_, err := a.Ledger.Store.LastSeq(context.Background(), shard)
		if err != nil {
			t.Fatal(err)
		}
	}
	return a.Ledger.Store.Events()
}

// Hook is a webhook as it came.
type Hook struct {
	Header http.Header
	Body   []byte
}

// Inbox receives webhooks, answers them with status, and returns them on the channel.
func Inbox(t *testing.T, status int) (string, <-chan Hook) {
	t.Helper()
	came := make(chan Hook, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		came <- Hook{r.Header, body}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL, came
}

// Secrets that production accepts.
const (
	GoodMasterKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	GoodSecret    = "a processor secret of 40 characters, yes"
)

// SecretFile writes a secret to a new file.
func SecretFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// FolderState is the content of a folder: each file with its mode and the hash of its bytes, and
// each subfolder.
func FolderState(t *testing.T, dir string) map[string]string {
	t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if state[path] = info.Mode().String(); d.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		state[path] += fmt.Sprintf(" %x", sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// Differences names the paths at which two states of a folder differ.
func Differences(before, after map[string]string) (paths []string) {
	for path := range maps.Keys(before) {
		if before[path] != after[path] {
			paths = append(paths, path)
		}
	}
	for path := range maps.Keys(after) {
		if before[path] == "" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// OneOperation checks that the processor has done one operation of a payment.
func OneOperation(t *testing.T, app *app.App, id string) {
	t.Helper()
	lines, err := app.Processors.Control().Books(context.Background(), adapter.Filter{Reference: domain.PaymentID(id)})
	if err != nil || len(lines) != 1 || lines[0].State != "SUCCEEDED" {
		t.Fatalf("the books hold %+v of the payment: %v", lines, err)
	}
}

// Look runs a command of package developer at a server. It must succeed and say nothing on stderr.
func Look(t testing.TB, m *Merchant, args ...string) string {
	t.Helper()
	status, out, said := Invoke(t, append(args, "--url", m.API, "--api-key", m.Key)...)
	if status != 0 || said != "" {
		t.Fatalf("%v: status %d: %s", args, status, said)
	}
	return out
}

// Invoke runs the command line in this process.
func Invoke(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = command.Run(args, &out, &err)
	return status, out.String(), err.String()
}

// AsProgram is an environment variable that makes the test binary the program itself: tests that
// kill a process need one to kill.
const AsProgram = "TEST_AS_PAYLEDGER"

// AsProbe makes the test binary a process that requests the URL again and again.
const AsProbe = "PAYLEDGER_TEST_AS_PROBE"

// Main is the TestMain of a package of service tests: it runs the tests, or becomes the program or
// the probe that a test started.
func Main(m *testing.M) { MainOf(m, 8) }

// MainOf is Main for tests of which some number runs beside each other.
func MainOf(m interface{ Run() int }, atOnce int) {
	app.EmbeddedReadTimeout = time.Minute
	if os.Getenv(AsProgram) != "" {
		os.Exit(command.Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	if service := os.Getenv(ClockAhead); service != "" {
		os.Exit(runAhead(service))
	}
	if url := os.Getenv(AsProbe); url != "" {
		if err := probe(url, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	forgetSettings()
	eventstoretest.AtOnce(atOnce, 3)
	os.Exit(m.Run())
}

// forgetSettings removes the program's settings from the environment: each test sets its own. The
// settings of the tests themselves stay.
func forgetSettings() {
	for _, set := range os.Environ() {
		if name, _, _ := strings.Cut(set, "="); strings.HasPrefix(name, "PAYLEDGER_") && !strings.HasPrefix(name, "PAYLEDGER_TEST_") && name != "PAYLEDGER_SCREENSHOTS" {
			os.Unsetenv(name)
		}
	}
}

// SealedIn returns all values of SECRETS, as they are stored.
func SealedIn(t *testing.T, o options.Options) map[string][]byte {
	t.Helper()
	l, err := ledger.Open(t.Context(), o, ledger.ReadOnly, engine.Config{Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stream, err := l.Store.OpenSecrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names, err := stream.Names(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, name := range names {
		switch box, err := stream.Get(t.Context(), name); {
		case err == nil:
			found[name] = box
		case !errors.Is(err, eventstore.ErrNotFound): // a running node may have destroyed it
			t.Fatal(err)
		}
	}
	return found
}

// Stoppable starts the service on a folder. The test stops it.
func Stoppable(t *testing.T, data string) *app.App {
	t.Helper()
	made := Initialized(t, data)
	app, err := app.Start(t.Context(), TestOptions(data), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if made != nil {
		app.Credentials = made
	}
	return app
}

// erasable is a customer of the tests below; hers are the values that must vanish.
var (
	HerCustomer = "customer-zenobia"
	HerValues   = []string{"zenobia@example.com", "Zenobia", "Quux", "Palmyra Road", "Odaenathus"}
)

// PayAs opens a session with personal data, pays in it and returns the payment's id; customer may
// be empty.
func (m *Merchant) PayAs(t *testing.T, customer string) string {
	t.Helper()
	body := map[string]any{
		"orderId": "order-1", "currencyCode": "EUR", "amount": 1000,
		"customer": map[string]any{
			"emailAddress": HerValues[0], "firstName": HerValues[1], "lastName": HerValues[2],
			"billingAddress": map[string]any{"addressLine1": HerValues[3], "city": "London", "countryCode": "GB", "postalCode": "W1A 1AA"},
		},
	}
	if customer != "" {
		body["customerId"] = customer
	}
	var opened struct{ ClientToken string }
	m.Must(t, "POST", "/client-session", m.Headers(), body).Decode(t, &opened)
	card := map[string]any{"paymentInstrument": map[string]any{
		"number": "4111111111111111", "cvv": "737", "expirationMonth": "03", "expirationYear": Expires, "cardholderName": HerValues[4],
	}}
	var made struct{ Token string }
	m.Must(t, "POST", "/payment-instruments", map[string]string{"X-Client-Token": opened.ClientToken}, card).Decode(t, &made)
	var paid PaymentAnswer
	m.Must(t, "POST", "/payments", m.Headers(), map[string]any{"paymentMethodToken": made.Token}).Decode(t, &paid)
	return paid.ID
}

// Shown returns the values of hers that a text has.
func Shown(text string) (found []string) {
	for _, value := range HerValues {
		if strings.Contains(text, value) {
			found = append(found, value)
		}
	}
	return found
}

// VaultAs saves a card of hers for a customer, and returns its token.
func (m *Merchant) VaultAs(t *testing.T, customer string) string {
	t.Helper()
	token := m.Token(t, "order-2", 500, "4111111111111111")
	m.Must(t, "POST", "/payment-instruments/"+token+"/vault", m.Headers(), map[string]any{"customerId": customer})
	return token
}

// KeyDestroyed waits until the log has so many person.key_destroyed.
func (m *Merchant) KeyDestroyed(t *testing.T, n int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(SettleDeadline); ; <-tick.C {
		body := m.Must(t, "GET", "/events?types=person.key_destroyed&limit=1000", m.Headers(), nil).Body
		if strings.Count(string(body), `"type":"person.key_destroyed"`) >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the key is not destroyed: %s", body)
		}
	}
}
