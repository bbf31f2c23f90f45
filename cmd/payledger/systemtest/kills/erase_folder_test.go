//go:build system

package kills

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/eventstore"
	"payledger/eventstore/archive"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
	"payledger/eventstore/secrets"
	"payledger/eventstore/streams"
	"payledger/eventstore/tipstore"
	"payledger/eventstore/tipstore/tipfiles"
)

// keysOf returns the values of persons' keys in a stopped folder, by the name of the key: as they
// are, and as SECRETS has them.
func keysOf(t *testing.T, data string, names ...domain.SecretID) map[string][]byte {
	t.Helper()
	ctx := context.Background()
	copied := t.TempDir() // an open changes files
	if err := os.CopyFS(copied, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(ctx, options.Options{Data: copied}, ledger.ReadOnly, engine.Config{Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sealed, err := l.Store.OpenSecrets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, name := range names {
		if there, err := sealed.Stands(string(name)); err != nil {
			t.Fatal(err)
		} else if !there {
			continue
		}
		box, err := sealed.Get(ctx, string(name))
		if err != nil {
			t.Fatal(err)
		}
		key, err := l.Secrets.Get(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		found[string(name)+", sealed"], found[string(name)] = box, key
	}
	return found
}

// everyByte returns all content of a stopped folder, by its place: every file, the events of the
// log, whose groups are compressed, and the values of the tip store, whose tables are compressed.
func everyByte(t *testing.T, data string) map[string][]byte {
	t.Helper()
	places := map[string][]byte{}
	readAll(t, data, places)
	files, err := archive.Open(filepath.Join(data, ledger.EventsFolder))
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(stream string, seq uint64, reason string) error {
		return fmt.Errorf("%s %d: %s", stream, seq, reason)
	}
	events := 0
	for shard := range files.Shards + 1 {
		if shard == files.Shards {
			shard = streams.DeliveryShard
		}
		err := files.Groups(context.Background(), shard, damaged, func(_ string, g *format.Group) error {
			for _, r := range g.Frames {
				events++
				places["the event "+r.EventID+" "+r.Type] = fmt.Appendf(nil, "%s %s %s %s", r.Key, r.Actor, r.CorrelationID, r.Body)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "tips")
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(data, ledger.EventsFolder, "tips"))); err != nil {
		t.Fatal(err)
	}
	tips, err := tipfiles.Open(tipstore.Options{Dir: copied, Cache: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	err = tips.Each(nil, func(key, value []byte) error {
		rows++
		places[fmt.Sprintf("the tip store at %q", key)] = append(append([]byte{}, key...), value...)
		return nil
	})
	if err != nil || events < 20 || rows < 20 {
		t.Fatalf("%d events, %d rows of the tip store: %v", events, rows, err)
	}
	if err := tips.Close(); err != nil {
		t.Fatal(err)
	}
	return places
}

// holding returns the places that hold a value.
func holding(places map[string][]byte, value []byte) (found []string) {
	for place, content := range places {
		if bytes.Contains(content, value) {
			found = append(found, place)
		}
	}
	return found
}

// TestErasedFolder checks that after an erasure no byte of the stopped folder holds the customer's
// or the guest's personal data or keys, in no file, event, table or journal. The log is whole,
// proofs from before and after are valid, and views that are made again from the log show the same
// (I1).
func TestErasedFolder(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = bytes.NewBuffer(nil).ReadFrom(r.Body) }))
	defer shop.Close()
	args := []string{"--data", data, "--webhook-allow-cidr", "127.0.0.0/8", "--log-level", "trace"}
	p := apptest.ServeProcess(t, args...)
	key, account := p.Credentials.APIKey, p.Credentials.AccountID
	m := apptest.NewMerchant(p.Ready.API, key)
	m.Must(t, "POST", "/management/webhook-endpoints", m.Headers(), map[string]any{"url": shop.URL})
	id, guest, stays := m.PayAs(t, apptest.HerCustomer), m.PayAs(t, ""), m.Token(t, "order-9", 500, "4111111111111111")
	m.Must(t, "POST", "/payments", m.Headers(), map[string]any{"paymentMethodToken": stays})
	m.Must(t, "POST", "/payments/"+id+"/capture", m.Headers(), map[string]any{})
	before, after := filepath.Join(dir, "before.json"), filepath.Join(dir, "after.json")
	verifier := prove(t, p.Ready.API, key, id, before)
	log := p.Log
	p.Stop()
	names := []domain.SecretID{
		secrets.PersonalKeyName(account, apptest.HerCustomer, ""), secrets.PersonalKeyName(account, "", sessionOf(t, data, account, guest)),
	}
	keys := keysOf(t, data, names...)
	if len(keys) != 4 {
		t.Fatalf("the folder has %d of the keys", len(keys))
	}
	for name, value := range keys {
		if found := holding(everyByte(t, data), value); (len(found) > 0) != strings.HasSuffix(name, ", sealed") {
			t.Errorf("before the erasure %s is in %v", name, found)
		}
	}

	p = apptest.ServeProcess(t, args...)
	m = apptest.NewMerchant(p.Ready.API, key)
	if status, _, stderr := apptest.Invoke(t, "erase-customer", apptest.HerCustomer, "--data", data); status != 0 {
		t.Fatalf("erase-customer exits %d: %s", status, stderr)
	}
	m.Must(t, "POST", "/management/payments/"+guest+"/erase", m.Headers(), nil)
	m.Must(t, "POST", "/payments/"+id+"/refund", m.Headers(), map[string]any{})
	prove(t, p.Ready.API, key, id, after)
	answers := string(m.Must(t, "GET", "/payments/"+id+"/events", m.Headers(), nil).Body) + string(m.Must(t, "GET", "/payments", m.Headers(), nil).Body)
	list := m.Must(t, "GET", "/payments?limit=100", m.Headers(), nil).Body
	p.Stop()
	places := everyByte(t, data)
	places["the service's log"], places["the answers"] = []byte(log.String()+p.Log.String()), []byte(answers)
	for name, value := range keys {
		if found := holding(places, value); len(found) > 0 {
			t.Errorf("%s is in %v", name, found)
		}
		if found := holding(places, []byte(hex.EncodeToString(value))); len(found) > 0 {
			t.Errorf("%s is in %v, as text", name, found)
		}
	}
	for _, value := range apptest.HerValues {
		if found := holding(places, []byte(value)); len(found) > 0 {
			t.Errorf("%q is in %v", value, found)
		}
	}
	if found := holding(places, []byte(apptest.HerCustomer)); len(found) == 0 { // the id stays in the log: the search must find it
		t.Error("the customer's id is nowhere")
	}
	whole := func(when string) {
		t.Helper()
		if status, out, stderr := apptest.Invoke(t, "verify", "--data", data); status != 0 || strings.Contains(out, "note") {
			t.Errorf("%s: verify exits %d: %s%s", when, status, out, stderr)
		}
	}
	whole("erased")
	for _, file := range []string{before, after} {
		if status, out, stderr := apptest.Invoke(t, "check-proof", file, "--key", verifier); status != 0 {
			t.Errorf("check-proof %s exits %d: %s%s", file, status, out, stderr)
		}
	}
	views, err := filepath.Glob(filepath.Join(data, "views", "*"))
	if err != nil || len(views) == 0 {
		t.Fatal(views, err)
	}
	for _, path := range views {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	p = apptest.ServeProcess(t, args...)
	m = apptest.NewMerchant(p.Ready.API, key)
	if again := m.Must(t, "GET", "/payments?limit=100", m.Headers(), nil).Body; !bytes.Equal(again, list) {
		t.Errorf("views that were made again list\n%s\nbefore\n%s", again, list)
	}
	if found := m.Must(t, "GET", "/payments?customer_email_address="+apptest.HerValues[0], m.Headers(), nil).Body; !strings.Contains(string(found), `"data":[]`) {
		t.Errorf("her address finds %s", found)
	}
	p.Stop()
	whole("with views made again")
	t.Logf("%d places, %d keys", len(places), len(keys)/2)
}

// prove writes the proof of a payment, and returns the verifier key.
func prove(t *testing.T, api, key, id, file string) string {
	t.Helper()
	status, out, stderr := apptest.Invoke(t, "prove", id, "--out", file, "--url", api, "--api-key", key)
	_, rest, _ := strings.Cut(out, `"verifierKey":"`)
	verifier, _, _ := strings.Cut(rest, `"`)
	if status != 0 || verifier == "" {
		t.Fatalf("prove exits %d: %s%s", status, out, stderr)
	}
	return verifier
}

// sessionOf returns the client session of a payment in a stopped folder.
func sessionOf(t *testing.T, data string, account domain.AccountID, id string) domain.SessionID {
	t.Helper()
	files, err := archive.Open(filepath.Join(data, ledger.EventsFolder))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	r, err := files.Newest(context.Background(), eventstore.Payments.Key(account, id), func(*eventstore.Recorded) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	state, err := eventstore.Payments.State(r)
	if err != nil {
		t.Fatal(err)
	}
	return state.Session
}
