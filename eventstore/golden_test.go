package eventstore_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/attempt"
	"payledger/domain/dispute"
	"payledger/domain/inbox"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/format"
)

// update writes golden files that are missing. Existing files never change.
var update = flag.Bool("update", false, "write the golden files that are missing")

// encoding is the encoding of one aggregate of any types.
type encoding struct {
	name   string
	schema int
	types  []string
	encode func(eventType string) []byte // of a full example
	decode func(*eventstore.Recorded) (event, state any, err error)
	full   func(eventType string) (event, state any)
}

func codecs() []encoding {
	return []encoding{
		codecOf(eventstore.Payments, payment.Events()), codecOf(eventstore.Sessions, session.Events()),
		codecOf(eventstore.Instruments, instrument.Events()), codecOf(eventstore.Accounts, account.Events()),
		codecOf(eventstore.Attempts, attempt.Events()),
		codecOf(eventstore.Disputes, dispute.Events()), codecOf(eventstore.Inboxes, inbox.Events()),
		codecOf(eventstore.Persons, person.Events()),
		codecOf(eventstore.Workflows, workflow.Events()), codecOf(eventstore.WorkflowRuns, workflow.RunEvents()),
		codecOf(eventstore.Webhooks, webhook.Events()),
		codecOf(eventstore.Logs, []eventstore.LogInitialized{{}}),
	}
}

func codecOf[S any, E domain.Event](a *eventstore.Aggregate[S, E], events []E) encoding {
	example := func(name string) (event E, state S) {
		i := slices.IndexFunc(events, func(e E) bool { return e.Type() == name })
		value := reflect.New(reflect.TypeOf(events[i])).Elem()
		f := filler{}
		f.fill(value, name)
		f.fill(reflect.ValueOf(&state).Elem(), name)
		return value.Interface().(E), state
	}
	c := encoding{
		name: a.Name, schema: a.Schema,
		encode: func(name string) []byte {
			event, state := example(name)
			b, err := a.Core.Encode("", event, state)
			if err != nil {
				panic(err)
			}
			return b
		},
		decode: func(r *eventstore.Recorded) (any, any, error) {
			event, err := a.Event(r)
			if err != nil || r.Schema < a.Schema { // an older state is folded again
				return event, nil, err
			}
			state, err := a.State(r)
			return event, state, err
		},
		full: func(name string) (any, any) { event, state := example(name); return event, state },
	}
	for _, e := range events {
		c.types = append(c.types, e.Type())
	}
	return c
}

// addedLater are fields that are left out when they are empty and are newer than the golden bytes, or are never in them. Each has its own
// test.
var addedLater = []string{"EmailHash", "Past", "KeyNumber", "RawAnswer"}

// renamed are the Go names that fields had when their golden bytes were made: examples of texts begin with the field's name.
var renamed = map[string]string{"OutOfBandID": "FoundID", "Disposition": "Verdict"}

// filler sets every field to a different value, the same in every run.
type filler struct{ n int64 }

func (f *filler) fill(v reflect.Value, name string) {
	f.n++
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.Date(2026, 3, 4, 5, 6, 7, int(f.n)*1000, time.UTC)
		return
	case *domain.Metadata:
		*value = domain.Metadata{"z": "text", "a": int64(300), "m": true, "negative": int64(-1 << 40), "big": int64(1 << 62)}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains(addedLater, name) {
				f.fill(v.Field(i), cmp.Or(renamed[name], name))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i), name)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d", strings.ToLower(name), f.n))
	case reflect.Int, reflect.Int64:
		v.SetInt(f.n * 1001)
	case reflect.Uint64:
		v.SetUint(uint64(f.n) * 1001)
	case reflect.Uint8:
		v.SetUint(uint64(f.n))
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("no example for a field of type " + v.Type().String())
	}
}

// The bytes of every event are what they were when its schema was made, and still mean the same. When this
// fails, the struct has changed: raise the schema and write the upgrade (see schema.go).
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	for _, c := range codecs() {
		for _, name := range c.types {
			t.Run(name, func(t *testing.T) {
				body := c.encode(name)
				file := filepath.Join("testdata", "golden", fmt.Sprintf("%s.%d.hex", name, c.schema))
				want, err := os.ReadFile(file)
				if os.IsNotExist(err) && *update {
					want = []byte(hexLines(body))
					err = os.WriteFile(file, want, 0o600)
				}
				if err != nil {
					t.Fatalf("%v; go test ./eventstore -run TestGoldenBytes -update writes a missing one", err)
				}
				if hexLines(body) != string(want) {
					t.Fatalf("the bytes have changed; raise the schema of %s\nwant\n%s\ngot\n%s", c.name, want, hexLines(body))
				}
				for range 20 {
					if string(c.encode(name)) != string(body) {
						t.Fatal("the same value gives other bytes")
					}
				}
				event, state, err := c.decode(&eventstore.Recorded{Type: name, Schema: c.schema, Body: body})
				if err != nil {
					t.Fatal(err)
				}
				wantEvent, wantState := c.full(name)
				same(t, "event", event, wantEvent)
				same(t, "state", state, wantState)
				checkUTC(t, reflect.ValueOf(event), "event")
				checkUTC(t, reflect.ValueOf(state), "state")
			})
		}
	}
}

// Every golden file, of older schemas too, decodes with this build.
func TestOldGoldenBytes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.hex"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		parts := strings.Split(filepath.Base(file), ".")
		name := strings.Join(parts[:2], ".")
		var schema int
		if _, err := fmt.Sscan(parts[2], &schema); err != nil {
			t.Fatal(file, err)
		}
		known := slices.ContainsFunc(codecs(), func(c encoding) bool {
			if !slices.Contains(c.types, name) {
				return false
			}
			r := &eventstore.Recorded{Type: name, Schema: schema, Body: unhexLines(t, file)}
			if _, _, err := c.decode(r); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			return true
		})
		if !known {
			t.Errorf("%s: no aggregate knows the event any more", file)
		}
	}
}

func checkUTC(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			if at.Location() != time.UTC {
				t.Errorf("%s is in %s", path, at.Location())
			}
			return
		}
		for i := range v.NumField() {
			checkUTC(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			checkUTC(t, v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkUTC(t, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// TestZeroIsOmitted: an absent value takes no bytes, and is absent after decoding.
func TestZeroIsOmitted(t *testing.T) {
	t.Parallel()
	body, err := eventstore.Payments.Core.Encode("", payment.Created{Route: []payment.Target{}}, payment.State{Operations: []payment.Operation{{}}})
	if err != nil {
		t.Fatal(err)
	}
	event, state, err := format.Generic(&eventstore.Recorded{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	operation := state["operations"].([]any)[0].(map[string]any)
	for name, fields := range map[string]map[string]any{"totals": state, "Past": state, "personal": event, "metadata": event, "keyHash": event, "answeredAt": operation, "failure": operation} {
		if value, there := fields[name]; there {
			t.Errorf("%s stands there as %v", name, value)
		}
	}
}

// TestEmailHash: sealed data without the hash has the bytes that it always had, and with it comes back whole.
func TestEmailHash(t *testing.T) {
	t.Parallel()
	sealed := &domain.Sealed{Key: "customer-key.acct1.x", Box: []byte{1, 2, 3}}
	plain, err := codec.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	if want := "82a36b6579b4637573746f6d65722d6b65792e61636374312e78a3626f78c403010203"; hex.EncodeToString(plain) != want {
		t.Errorf("encoded as %x, want %s", plain, want)
	}
	sealed.EmailHash = "0123456789abcdef0123456789abcdef"
	hashed, err := codec.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	var back domain.Sealed
	if err := codec.Unmarshal(hashed, &back); err != nil || !reflect.DeepEqual(&back, sealed) {
		t.Errorf("decoded as %+v, %v", back, err)
	}
}

// TestFieldsAddedLater: events without them have the bytes that they always had, and with them come back whole.
func TestFieldsAddedLater(t *testing.T) {
	for _, c := range []struct{ plain, full, back any }{
		{attempt.Created{Token: "t"}, attempt.Created{Token: "t", Shown: &domain.Price{Amount: 2500, Currency: "EUR"}}, &attempt.Created{}},
		{account.Settings{CaptureMode: "MANUAL"}, account.Settings{CaptureMode: "MANUAL", DisplayName: "Kiosk"}, &account.Settings{}},
		{domain.Sealed{Key: "k"}, domain.Sealed{Key: "k", KeyNumber: 2}, &domain.Sealed{}},
		{payment.State{ID: "p"}, payment.State{ID: "p", KeyNumber: 2}, &payment.State{}},
		{payment.Captured{}, payment.Captured{Answer: payment.Answer{RawAnswer: &processor.RawAnswer{
			Body: `{"state":"SUCCEEDED"}`, Sealed: &domain.Sealed{Key: "k", Box: []byte{1}}, Redacted: true, Cut: true,
		}}}, &payment.Captured{}},
	} {
		plain, err := codec.Marshal(c.plain)
		if err != nil || bytes.Contains(plain, []byte("shown")) || bytes.Contains(plain, []byte("displayName")) || bytes.Contains(plain, []byte("keyNumber")) ||
			bytes.Contains(plain, []byte("rawAnswer")) {
			t.Errorf("%T without the field: %q %v", c.plain, plain, err)
		}
		full, err := codec.Marshal(c.full)
		if err != nil {
			t.Fatal(err)
		}
		if err := codec.Unmarshal(full, c.back); err != nil || !reflect.DeepEqual(reflect.ValueOf(c.back).Elem().Interface(), c.full) {
			t.Errorf("%T comes back as %+v, %v", c.full, c.back, err)
		}
	}
}

// hexLines writes 32 bytes a line.
func hexLines(b []byte) string {
	var lines strings.Builder
	for chunk := range slices.Chunk(b, 32) {
		lines.WriteString(hex.EncodeToString(chunk) + "\n")
	}
	return lines.String()
}

func unhexLines(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(file, err)
	}
	return b
}
