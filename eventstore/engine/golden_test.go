package engine_test

import (
	"bytes"
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
	"payledger/domain/session"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/codec"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// update writes the golden files of testdata/golden anew. Of the other files of testdata it writes
// those that are missing: existing ones never change.
var update = flag.Bool("update", false, "write the golden files anew, and the other files of testdata that are missing")

const golden = "testdata/golden"

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
			if err != nil {
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
	slices.Sort(c.types)
	return c
}

// filler sets every field of a body to a different value, the same in every run.
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
			if field := v.Type().Field(i); field.Tag.Get("json") != "-" { // the body has no such field
				f.fill(v.Field(i), field.Name)
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

// TestGoldenBytes checks that an example of every event has the bytes of the golden file of its
// aggregate, and that every golden event decodes. The package comment of eventstore, "Schemas", has
// the rules for a change.
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			var made []*eventstore.Recorded
			for _, name := range c.types {
				made = append(made, checkEncoding(t, c, name))
			}
			text := eventstoretest.FormatGolden(c.name, c.schema, made)
			file := filepath.Join(golden, c.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; go test ./eventstore/engine -run TestGoldenBytes -update writes the golden files", err)
			}
			if string(want) != text {
				t.Errorf("the golden file has other bytes: %s", firstDifference(string(want), text))
			}
		})
	}
	if files, err := os.ReadDir(golden); err != nil || len(files) != len(codecs()) {
		t.Errorf("%d golden files of %d aggregates, %v", len(files), len(codecs()), err)
	}
}

// checkEncoding encodes the example of an event, and decodes it again.
func checkEncoding(t *testing.T, c encoding, name string) *eventstore.Recorded {
	t.Helper()
	r := &eventstore.Recorded{Type: name, Schema: c.schema, Body: c.encode(name)}
	for range 20 {
		if !bytes.Equal(c.encode(name), r.Body) {
			t.Fatalf("%s: the same value gives other bytes", name)
		}
	}
	event, state, err := c.decode(r)
	if err != nil {
		t.Fatal(name, err)
	}
	wantEvent, wantState := c.full(name)
	same(t, name+", event", event, wantEvent)
	same(t, name+", state", state, wantState)
	checkUTC(t, reflect.ValueOf(event), name+", event")
	checkUTC(t, reflect.ValueOf(state), name+", state")
	return r
}

// firstDifference returns the first line that is different in two texts, without the parts of the
// line that are equal.
func firstDifference(want, got string) string {
	wanted, lines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wanted), len(lines)) {
		if w, g := wanted[i], lines[i]; w != g {
			n := 0
			for n < min(len(w), len(g)) && w[n] == g[n] {
				n++
			}
			name, _, _ := strings.Cut(g, " ")
			return fmt.Sprintf("line %d (%s), from column %d: want %.80s, got %.80s", i+1, name, n+1, w[n:], g[n:])
		}
	}
	return fmt.Sprintf("it has %d lines, want %d", len(lines), len(wanted))
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
	body, err := eventstore.Payments.Core.Encode("", payment.Created{Route: []payment.Target{}, Personal: &domain.Sealed{Key: "k"}}, payment.State{
		Operations: []payment.Operation{{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	event, state, err := format.Generic(&eventstore.Recorded{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	operation := state["operations"].([]any)[0].(map[string]any)
	for name, fields := range map[string]map[string]any{
		"totals": state, "Past": state, "keyNumber": state, "metadata": event, "keyHash": event, "answeredAt": operation, "failure": operation,
		"emailHash": event["personal"].(map[string]any),
	} {
		if value, there := fields[name]; there {
			t.Errorf("%s stands there as %v", name, value)
		}
	}
	for name, v := range map[string]any{
		"shown": attempt.Created{Token: "t"}, "displayName": account.Settings{CaptureMode: "MANUAL"}, "refuseRefundOfDisputed": account.Settings{CaptureMode: "MANUAL"}, "checkoutOrigins": account.Settings{CaptureMode: "MANUAL"}, "rawAnswer": payment.Captured{},
		"keyNumber": domain.Sealed{Key: "k"},
	} {
		if b, err := codec.Marshal(v); err != nil || bytes.Contains(b, []byte(name)) {
			t.Errorf("%T without %s: %q %v", v, name, b, err)
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
