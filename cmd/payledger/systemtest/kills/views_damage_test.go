//go:build system

package kills

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
	"payledger/projections"
	"payledger/projections/deliveries"
)

var (
	viewFaults    = flag.Int("viewfaults", 25, "number of faults that TestVerifyDamagedViews makes")
	viewFaultKind = flag.String("viewfaultkind", "", "kind of these faults; none: all")
)

// viewFiles are the files of the views, with the name that verify has for each.
var viewFiles = map[string]string{projections.FileName: "read model", deliveries.FileName: "index of deliveries"}

// TestVerifyDamagedViews damages the files of the views of a stopped or killed service at random:
// verify finds and names each fault, or the fault is harmless: after a start every answer is byte
// for byte as before (I1).
func TestVerifyDamagedViews(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	v := makeViews(t)
	for _, state := range []string{v.stopped, v.killed} {
		if status, out, stderr := apptest.Invoke(t, "verify", "--data", v.folder(t, state)); status != 0 || strings.Contains(out, "note") {
			t.Fatalf("undamaged views: verify exits %d: %s%s", status, out, stderr)
		}
	}
	seed, n := seedtest.Seed(t), *viewFaults
	counts := map[string]int{}
	for i := range uint64(n) {
		if !seedtest.Turn(int(i), 3) {
			continue
		}
		what, verdict := v.damaged(t, rand.New(rand.NewPCG(seed+i, 1)))
		if what == "" {
			continue
		}
		t.Logf("seed %d: %s: %s", seed+i, what, verdict)
		counts[verdict]++
	}
	t.Logf("%d faults from seed %d: %v", n, seed, counts)
	if len(counts) == 0 {
		t.Error("no fault was made")
	}
}

// viewsTemplate is a stopped service's folder, its views in three states, and the answers of the
// service.
type viewsTemplate struct {
	data                   string
	older, killed, stopped string // folders of views
	key                    string
	paths                  []string
	answers                map[string]string
}

// makeViews makes rows of all tables, and stops the service.
func makeViews(t *testing.T) *viewsTemplate {
	t.Helper()
	v := &viewsTemplate{data: t.TempDir(), older: t.TempDir(), killed: t.TempDir()}
	v.stopped = filepath.Join(v.data, ledger.ViewsFolder)
	hooks, came := apptest.Inbox(t, http.StatusOK)
	go func() {
		for range came { // it has a small buffer
		}
	}()
	app, stop := apptest.StartToStop(t, apptest.TestOptions(v.data))
	m := apptest.NewMerchant(app.API.URL, app.Credentials.APIKey)
	v.key = m.Key
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": hooks})
	flow := m.Workflow(t, apptest.On("AUTHORIZED", "payment.amount == 700", 0, `{"type":"capture"}`))
	v.use(t, m, 1)
	copyViews(t, v.stopped, v.older)
	v.use(t, m, 2)
	v.paths = append(v.paths, flow+"/runs?limit=100", "/management/disputes?limit=100", "/management/webhook-deliveries?limit=100",
		"/management/webhook-deliveries?outcome=SUCCEEDED&limit=100", "/payment-instruments?customer_id=customer-1", "/payment-instruments?customer_id="+apptest.HerCustomer)
	for _, filter := range []string{"", "status=SETTLED", "status=DECLINED", "order_id=order-2", "customer_id=" + apptest.HerCustomer, "currency_code=EUR", "min_amount=701", "last_4_digits=1111"} {
		v.paths = append(v.paths, "/payments?limit=100&"+filter)
	}
	apptest.Until(t, time.Minute, "all events have positions", func() (bool, string) {
		v.answers = v.ask(t, m)
		events, positions := 0, 0
		for path, answer := range v.answers {
			if strings.HasSuffix(path, "/events") {
				events, positions = events+strings.Count(answer, `"previousHash"`), positions+strings.Count(answer, `"position"`)
			}
		}
		return positions == events && events > 0, fmt.Sprintf("%d of %d", positions, events)
	})
	copyViews(t, v.stopped, v.killed)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if now := v.started(t, v.data); !maps.Equal(now, v.answers) {
		t.Fatalf("a restart changes answers: %s", otherwise(v.answers, now))
	}
	return v
}

// hooksOfUse is the number of webhooks that use causes.
const hooksOfUse = 16

// use pays, refunds, disputes, runs a workflow, saves and erases, and waits until all is settled.
func (v *viewsTemplate) use(t *testing.T, m *apptest.Merchant, round int) {
	t.Helper()
	for i, card := range []string{apptest.CardApproved, apptest.DeclinedCard, apptest.CardDisputed, "4000000000005126"} {
		got, err := m.Pay(m.Token(t, fmt.Sprintf("order-%d", i), int64(600+i), card), fmt.Sprintf("key-%d-%d", round, i))
		var made apptest.PaymentAnswer
		if err != nil || got.Status != 200 {
			t.Fatalf("pay: %v %d %s", err, got.Status, got.Body)
		}
		got.Decode(t, &made)
		v.paths = append(v.paths, "/payments/"+made.ID, "/payments/"+made.ID+"/events")
		if made.Status != "AUTHORIZED" {
			continue
		}
		m.Must(t, "POST", "/payments/"+made.ID+"/capture", m.Headers(), nil)
		m.Must(t, "POST", "/payments/"+made.ID+"/refund", m.Headers(), map[string]any{"amount": 100})
	}
	got, err := m.Pay(m.Token(t, "order-flow", 700, apptest.CardApproved), fmt.Sprintf("key-%d-flow", round))
	if err != nil || got.Status != 200 {
		t.Fatalf("pay: %v %d %s", err, got.Status, got.Body)
	}
	m.VaultAs(t, "customer-1")
	m.PayAs(t, apptest.HerCustomer)
	m.VaultAs(t, apptest.HerCustomer)
	m.Must(t, "POST", "/management/customers/"+apptest.HerCustomer+"/erase", m.Headers(), nil)
	m.KeyDestroyed(t, round)
	list := func(query string) int {
		got := m.Must(t, "GET", "/management/webhook-deliveries?limit=100"+query, m.Headers(), nil)
		return strings.Count(string(got.Body), `"eventId"`)
	}
	apptest.Until(t, time.Minute, "all webhooks came", func() (bool, string) {
		all, succeeded := list(""), list("&outcome=SUCCEEDED")
		return all == hooksOfUse*round && succeeded == all, fmt.Sprintf("%d of %d", succeeded, all)
	})
}

// ask reads all answers of the views, and the payments in them.
func (v *viewsTemplate) ask(t *testing.T, m *apptest.Merchant) map[string]string {
	t.Helper()
	answers := map[string]string{}
	for _, path := range v.paths {
		got, err := m.Call("GET", path, m.Headers(), nil)
		if err != nil {
			t.Fatal(err)
		}
		answers[path] = fmt.Sprint(got.Status, string(got.Body))
	}
	return answers
}

// started starts a service on a folder and returns its answers.
func (v *viewsTemplate) started(t *testing.T, data string) map[string]string {
	t.Helper()
	app, stop := apptest.StartToStop(t, apptest.TestOptions(data))
	answers := v.ask(t, apptest.NewMerchant(app.API.URL, v.key))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return answers
}

// otherwise returns the first two different answers.
func otherwise(was, now map[string]string) string {
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if was[path] != now[path] {
			return fmt.Sprintf("%s: %s instead of %s", path, now[path], was[path])
		}
	}
	return ""
}

// folder returns a copy of the data folder with other views.
func (v *viewsTemplate) folder(t *testing.T, views string) string {
	t.Helper()
	data := t.TempDir()
	if err := os.CopyFS(data, os.DirFS(v.data)); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(data, ledger.ViewsFolder)
	if err := errors.Join(os.RemoveAll(to), os.Mkdir(to, 0o700)); err != nil {
		t.Fatal(err)
	}
	copyViews(t, views, to)
	return data
}

// copyViews copies the files of views, without the shared memory, which a kill leaves useless.
func copyViews(t *testing.T, from, to string) {
	t.Helper()
	for name := range viewFiles {
		for _, name := range []string{name, name + "-wal"} {
			b, err := os.ReadFile(filepath.Join(from, name))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(to, name), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// damaged makes one fault and returns it with its verdict; "" if the fault would change nothing.
func (v *viewsTemplate) damaged(t *testing.T, random *rand.Rand) (what, verdict string) {
	t.Helper()
	views := []string{v.stopped, v.stopped, v.stopped, v.killed}[random.IntN(4)]
	name := slices.Sorted(maps.Keys(viewFiles))[random.IntN(2)]
	kind := slices.Sorted(maps.Keys(viewDamages))[random.IntN(len(viewDamages))]
	if *viewFaultKind != "" {
		kind = *viewFaultKind
	}
	file := name
	if kind == "older" && random.IntN(2) == 0 || views == v.killed && random.IntN(2) == 0 {
		file += "-wal"
	}
	was, err := os.ReadFile(filepath.Join(views, file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	older, err := os.ReadFile(filepath.Join(v.older, file))
	if err != nil {
		t.Fatal(err)
	}
	if len(was) == 0 && kind != "older" {
		return "", ""
	}
	now, detail := viewDamages[kind](bytes.Clone(was), older, random)
	if bytes.Equal(was, now) {
		return "", ""
	}
	data := v.folder(t, views)
	if err := os.WriteFile(filepath.Join(data, ledger.ViewsFolder, file), now, 0o600); err != nil {
		t.Fatal(err)
	}
	what = fmt.Sprintf("%s of %s, killed %t: %s", kind, file, views == v.killed, detail)
	before := files(t, data)
	status, out, stderr := apptest.Invoke(t, "verify", "--data", data, "--all")
	same(t, before, files(t, data))
	switch {
	case status == 1 && (strings.Contains(out, "views/"+name) || strings.Contains(out, viewFiles[name])):
		return what, "named by verify"
	case status != 0:
		t.Errorf("%s: verify exits %d and does not name it: %s%s", what, status, out, stderr)
		return what, "not named"
	}
	verdict = "harmless"
	if strings.Contains(out, "note: ") {
		if verdict = "named in a note"; !strings.Contains(out, viewFiles[name]) {
			t.Errorf("%s: the note does not name it: %s", what, out)
		}
	}
	if now := v.started(t, data); !maps.Equal(now, v.answers) {
		t.Errorf("%s: verify found nothing, and a start answers %s", what, otherwise(v.answers, now))
	}
	return what, verdict
}

// viewDamages damage the bytes of a file; older are those of an earlier one.
var viewDamages = map[string]func(b, older []byte, random *rand.Rand) ([]byte, string){
	"bit": func(b, _ []byte, random *rand.Rand) ([]byte, string) {
		at, bit := somewhere(b, random), random.IntN(8)
		b[at] ^= 1 << bit
		return b, fmt.Sprintf("bit %d of byte %d of %d", bit, at, len(b))
	},
	"byte": func(b, _ []byte, random *rand.Rand) ([]byte, string) {
		at := somewhere(b, random)
		b[at] = byte(random.Uint32())
		return b, fmt.Sprintf("byte %d of %d", at, len(b))
	},
	"swap": func(b, _ []byte, random *rand.Rand) ([]byte, string) {
		first, second := pageOf(b, random), pageOf(b, random)
		page := bytes.Clone(b[first : first+viewPage])
		copy(b[first:first+viewPage], b[second:second+viewPage])
		copy(b[second:], page)
		return b, fmt.Sprintf("the pages at %d and %d of %d", first, second, len(b))
	},
	"cut": func(b, _ []byte, random *rand.Rand) ([]byte, string) {
		n := random.IntN(len(b))
		return b[:n], fmt.Sprintf("to %d bytes of %d", n, len(b))
	},
	"zero": func(b, _ []byte, random *rand.Rand) ([]byte, string) {
		at := pageOf(b, random)
		clear(b[at : at+viewPage])
		return b, fmt.Sprintf("the page at %d of %d", at, len(b))
	},
	"older": func(b, older []byte, _ *rand.Rand) ([]byte, string) {
		return older, fmt.Sprintf("from %d to %d bytes", len(b), len(older))
	},
}

// viewPage is the size of a page of SQLite in bytes.
const viewPage = 4096

func pageOf(b []byte, random *rand.Rand) int {
	if len(b) < 2*viewPage {
		return 0
	}
	return random.IntN(len(b)/viewPage) * viewPage
}

// somewhere returns an index of a byte; three of four times the byte is not zero.
func somewhere(b []byte, random *rand.Rand) (at int) {
	empty := random.IntN(4) == 0
	for range len(b) {
		if at = random.IntN(len(b)); empty || b[at] != 0 {
			break
		}
	}
	return at
}
