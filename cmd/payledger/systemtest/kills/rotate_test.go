//go:build system

package kills

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/domain"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/secretlog"
	"payledger/eventstore/secrets"
)

// ownKey returns the master key in a data folder.
func ownKey(t *testing.T, data string) string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(data, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(key))
}

// opensWith reports whether a stopped folder opens with a master key.
func opensWith(t *testing.T, data, text string) bool {
	t.Helper()
	key, err := secrets.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	err = secretlog.Stopped(filepath.Join(data, ledger.EventsFolder)).Check(key.Check)
	if err != nil && !errors.Is(err, secrets.ErrSealed) {
		t.Fatal(err)
	}
	return err == nil
}

// copyOf copies a data folder as a kill would leave it. A process may have it open: tables of its
// tip store come and go beside the test, so a copy counts only if the files were the same ones
// before and after it.
func copyOf(t *testing.T, data string) string {
	t.Helper()
	for {
		copied := filepath.Join(t.TempDir(), "data")
		before, err := filesOf(data)
		if err == nil {
			err = os.CopyFS(copied, os.DirFS(data))
		}
		after, failed := filesOf(data)
		err = errors.Join(err, failed)
		if err == nil && slices.Equal(before, after) {
			return copied
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// filesOf returns the names and sizes of the files in a folder.
func filesOf(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			files = append(files, fmt.Sprint(path, " ", info.Size()))
		}
		return err
	})
	return files, err
}

// sealedValues returns all values of SECRETS in a stopped folder, as they are stored.
func sealedValues(t *testing.T, data string) map[string][]byte {
	t.Helper()
	return apptest.SealedIn(t, options.Options{Data: copyOf(t, data)})
}

// rotationRig is a stopped sandbox with secrets of every kind.
type rotationRig struct {
	data, key, apiKey string
	account           domain.AccountID
	payment, erased   string
	old               map[string][]byte // the stored values
}

func newRotationRig(t *testing.T) *rotationRig {
	r := &rotationRig{data: t.TempDir()}
	app := apptest.Stoppable(t, r.data)
	r.account, r.apiKey = app.Credentials.AccountID, app.Credentials.APIKey
	m := apptest.NewMerchant(app.Ready().API, r.apiKey)
	r.payment, r.erased = m.PayAs(t, apptest.HerCustomer), m.PayAs(t, "gone-customer")
	m.VaultAs(t, apptest.HerCustomer)
	for range 5 { // enough events for everyByte
		m.PayAs(t, apptest.HerCustomer)
	}
	m.Token(t, "order-7", 500, "4111111111111111") // a card that no payment uses yet
	m.Must(t, "POST", "/management/customers/gone-customer/erase", m.Headers(), nil)
	m.KeyDestroyed(t, 1)
	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	r.key, r.old = ownKey(t, r.data), sealedValues(t, r.data)
	if len(r.old) < 8 {
		t.Fatalf("the folder has %d sealed values", len(r.old))
	}
	return r
}

// holds checks that a folder has the ledger, and no value that the old key opens.
func (r *rotationRig) holds(t *testing.T, data string) {
	t.Helper()
	if status, out, stderr := apptest.Invoke(t, "verify", "--data", data); status != 0 || strings.Contains(out, "note") {
		t.Errorf("verify exits %d: %s%s", status, out, stderr)
	}
	if r.key == ownKey(t, data) || opensWith(t, data, r.key) || !opensWith(t, data, ownKey(t, data)) {
		t.Error("the new key is not the only one that opens the ledger")
	}
	places := everyByte(t, data)
	if found := holding(places, []byte(r.key)); len(found) > 0 {
		t.Errorf("the old key is in %v", found)
	}
	if raw, _ := hex.DecodeString(r.key); len(holding(places, raw)) > 0 {
		t.Error("the old key is in the folder")
	}
	for name, value := range r.old {
		if strings.HasPrefix(name, "card.") { // it is sealed with the key of its minute
			continue
		}
		if found := holding(places, value); len(found) > 0 {
			t.Errorf("%s, sealed with the old key, is in %v", name, found)
		}
	}
	if found, err := filepath.Glob(filepath.Join(data, "master.key?*")); err != nil || len(found) > 0 {
		t.Errorf("%v stays: %v", found, err)
	}
}

// serves checks that the service of a folder has the secrets.
func (r *rotationRig) serves(t *testing.T, data string) {
	t.Helper()
	app := apptest.Stoppable(t, data)
	m := apptest.NewMerchant(app.Ready().API, r.apiKey)
	if _, body := m.Read(t, r.payment); len(apptest.Shown(string(body))) == 0 {
		t.Errorf("the payment shows no personal data: %s", body)
	}
	if _, body := m.Read(t, r.erased); len(apptest.Shown(string(body))) > 0 {
		t.Errorf("erased data is back: %s", body)
	}
	path := "/payments?customer_email_address=" + apptest.HerValues[0]
	if found := m.Must(t, "GET", path, m.Headers(), nil).Body; !strings.Contains(string(found), r.payment) {
		t.Errorf("her address finds %s", found)
	}
	newer := m.PayAs(t, apptest.HerCustomer)
	if found := m.Must(t, "GET", path, m.Headers(), nil).Body; !strings.Contains(string(found), newer) {
		t.Errorf("her address does not find the new payment: %s", found)
	}
	if err := app.Stop(); err != nil {
		t.Error(err)
	}
}

// The steps of a rotation of a folder that change which keys it needs.
const (
	rotationBegun    = "the generation has begun"
	rotationDropped  = "the drop of the earlier segments is recorded"
	rotationSwept    = "the earlier segments are deleted"
	rotationComplete = "the rotation is complete"
)

// TestRotateMasterKey cuts a rotation short after each of its steps. Until it begins the old key
// opens the ledger, and from then on both keys of the folder do; the new one alone when the old
// values are gone. The next run completes the rotation. After that no byte of the folder holds the
// old key, or a value that it opens (I1).
func TestRotateMasterKey(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newRotationRig(t)
	crashed, steps := map[string]string{}, []string{}
	whole := copyOf(t, r.data)
	rotation := ledger.Rotation{Options: options.Options{Data: whole}, Stepped: func(step string) {
		crashed[step], steps = copyOf(t, whole), append(steps, step)
	}}
	done, err := rotation.Run(t.Context())
	if err != nil || done.Values != len(r.old)+1 || done.Completed || len(steps) != 8 { // the root of the hashes is a value now
		t.Fatalf("a rotation seals %+v of %d values in steps %q: %v", done, len(r.old), steps, err)
	}
	r.holds(t, whole)
	r.serves(t, whole)
	for name, change := range map[string]func(streams string) error{
		"an old segment has another name": func(s string) error { return os.Rename(filepath.Join(s, "SECRETS_1"), filepath.Join(s, ".SECRETS_1")) },
		"an old segment is half removed":  func(s string) error { return os.Remove(filepath.Join(s, "SECRETS_1", "meta.inf")) },
	} {
		crashed[name] = copyOf(t, crashed[rotationDropped])
		steps = slices.Insert(steps, slices.Index(steps, rotationSwept), name)
		if err := change(filepath.Join(crashed[name], "events", "jetstream", "LEDGER", "streams")); err != nil {
			t.Fatal(err)
		}
	}
	begun, swept := false, false
	for _, step := range steps {
		data := crashed[step]
		begun, swept = begun || step == rotationBegun, swept || step == rotationSwept
		candidate, err := secrets.NextKey(data)
		gone := swept || strings.HasPrefix(step, "an old segment") // it holds the values of the old key
		if old, now := opensWith(t, data, r.key), err == nil && opensWith(t, data, candidate.Text()); old == gone || now != begun {
			t.Errorf("%s: the old key opens the ledger: %v, the new one: %v", step, old, now)
		}
		if status, out, stderr := apptest.Invoke(t, "verify", "--data", copyOf(t, data)); status != 0 || strings.Contains(out, "note") {
			t.Errorf("%s: verify exits %d: %s%s", step, status, out, stderr)
		}
		if status, out, stderr := apptest.Invoke(t, "rotate-master-key", "--data", data); status != 0 || strings.Contains(out, "interrupted") != begun {
			t.Errorf("%s: the next run exits %d: %s%s", step, status, out, stderr)
		}
		r.holds(t, data)
	}
}

// TestRotateAfterOtherRotation: a run that completes an earlier rotation to another key goes on to
// the key that it was given: it does not answer that all is done.
func TestRotateAfterOtherRotation(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newRotationRig(t)
	var crashed, given string
	first, second := strings.Repeat("56", 32), strings.Repeat("78", 32)
	_, err := ledger.Rotation{Options: options.Options{Data: r.data, MasterKey: r.key}, Next: first, Stepped: func(step string) {
		if step == rotationDropped {
			given = copyOf(t, r.data)
		}
	}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := copyOf(t, given)
	_, err = ledger.Rotation{Options: options.Options{Data: own, MasterKey: first}, Next: r.key}.Run(t.Context()) // the key of its file again
	if err == nil {
		_, err = ledger.Rotation{Options: options.Options{Data: own}, Stepped: func(step string) {
			if step == rotationDropped {
				crashed = copyOf(t, own)
			}
		}}.Run(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ data, key string }{"a given key": {given, first}, "the folder's own key": {crashed, ""}} {
		done, err := ledger.Rotation{Options: options.Options{Data: c.data, MasterKey: c.key}, Next: second}.Run(t.Context())
		if err != nil || done.Completed || !opensWith(t, c.data, second) {
			t.Errorf("%s: %+v %v", name, done, err)
		}
	}
}

// TestServeAfterRotationCutShort: a service that starts after a rotation was cut short completes
// it, or removes it.
func TestServeAfterRotationCutShort(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newRotationRig(t)
	crashed := map[string]string{}
	_, err := ledger.Rotation{Options: options.Options{Data: r.data}, Stepped: func(step string) { crashed[step] = copyOf(t, r.data) }}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"both keys are kept", rotationBegun, rotationDropped, rotationComplete} {
		data := crashed[step]
		r.serves(t, data)
		if ownKey(t, data) != r.key {
			r.holds(t, data)
		} else if step != "both keys are kept" {
			t.Error("the service did not complete the rotation")
		}
	}
}

// TestRotateGivenKeyCutShort: the keys of a folder are kept elsewhere, and a rotation is cut short
// after each of its steps. The same command completes it, and from its beginning on the new key
// alone does. The folder never has a key in clear.
func TestRotateGivenKeyCutShort(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newRotationRig(t)
	if err := os.Remove(filepath.Join(r.data, "master.key")); err != nil {
		t.Fatal(err)
	}
	next, steps, crashed := strings.Repeat("9a", 32), []string{}, map[string]string{}
	_, err := ledger.Rotation{Options: options.Options{Data: r.data, MasterKey: r.key}, Next: next, Stepped: func(step string) {
		crashed[step], steps = copyOf(t, r.data), append(steps, step)
	}}.Run(t.Context())
	if err != nil || len(steps) != 8 {
		t.Fatal(steps, err)
	}
	begun := false
	for _, step := range steps {
		begun = begun || step == rotationBegun
		data, alone := crashed[step], copyOf(t, crashed[step])
		for file, content := range everyByte(t, data) {
			for _, key := range []string{r.key, next} {
				if raw, _ := hex.DecodeString(key); bytes.Contains(content, []byte(key)) || bytes.Contains(content, raw) {
					t.Errorf("%s: %s has a key", step, file)
				}
			}
		}
		l, err := ledger.Open(t.Context(), options.Options{Data: copyOf(t, data), MasterKey: next}, ledger.ReadOnly, ledger.Config{})
		if (err == nil) != begun {
			t.Errorf("%s: with the new key alone: %v", step, err)
		}
		if err == nil {
			err = errors.Join(l.Close(), started(t, alone, next))
			r.hasOnly(t, alone, next)
		} else if err = started(t, alone, next); err == nil {
			t.Errorf("%s: a service starts with the new key", step)
		}
		if err != nil && begun {
			t.Errorf("%s: a service: %v", step, err)
		}
		if _, err := (ledger.Rotation{Options: options.Options{Data: data, MasterKey: r.key}, Next: next}).Run(t.Context()); err != nil {
			t.Errorf("%s: again: %v", step, err)
		}
		r.hasOnly(t, data, next)
	}
}

// started opens a ledger as a start of the service does.
func started(t *testing.T, data, key string) error {
	t.Helper()
	l, err := ledger.Open(t.Context(), options.Options{Data: data, MasterKey: key}, ledger.Existing, ledger.Config{})
	if err == nil {
		err = l.Close()
	}
	return err
}

// hasOnly checks that only a new key opens the ledger in a folder without keys.
func (r *rotationRig) hasOnly(t *testing.T, data, key string) {
	t.Helper()
	if !opensWith(t, data, key) || opensWith(t, data, r.key) {
		t.Error("the new key is not the only one that opens the ledger")
	}
	if found, err := filepath.Glob(filepath.Join(data, "master.key*")); err != nil || len(found) > 0 {
		t.Errorf("%v stays: %v", found, err)
	}
}

// TestRestoreWhileRotated: a back-up of a folder whose rotation is not complete is restored with
// both keys, and the restore completes the rotation.
func TestRestoreWhileRotated(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	r := newRotationRig(t)
	crashed, next := map[string]string{}, strings.Repeat("bc", 32)
	_, err := ledger.Rotation{Options: options.Options{Data: r.data}, Next: next, Stepped: func(step string) { crashed[step] = copyOf(t, r.data) }}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{rotationBegun, rotationDropped, rotationComplete} {
		from := t.TempDir()
		out, keys, to := filepath.Join(from, "out"), filepath.Join(from, "keys"), filepath.Join(from, "data")
		if status, _, stderr := apptest.Invoke(t, "backup", "--data", crashed[step], "--out", out, "--keys-out", keys); status != 0 {
			t.Fatalf("%s: backup exits %d: %s", step, status, stderr)
		}
		restore := []string{"restore", "--from", out, "--keys", keys, "--data", to, "--master-key-file", apptest.SecretFile(t, next)}
		if step != rotationComplete {
			if status, _, stderr := apptest.Invoke(t, restore...); status == 0 || !strings.Contains(stderr, "PAYLEDGER_MASTER_KEY_PREVIOUS") {
				t.Errorf("%s: with one key restore exits %d: %s", step, status, stderr)
			}
			restore = append(restore, "--master-key-previous-file", apptest.SecretFile(t, r.key))
		}
		if status, _, stderr := apptest.Invoke(t, restore...); status != 0 {
			t.Errorf("%s: restore exits %d: %s", step, status, stderr)
			continue
		}
		r.hasOnly(t, to, next)
	}
}
