package projections

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/instrument"
	"payledger/domain/payment"
	"payledger/domain/person"
	"payledger/domain/processor"
	"payledger/domain/session"
	"payledger/domain/webhook"
	"payledger/domain/workflow"
	"payledger/eventstore"
	"payledger/eventstore/format"
	"payledger/projections/sqlitefile"
)

// story is a log with every kind of event that a view is made of.
func story(shards int) *logbook {
	l := newLogbook(shards)
	first, _ := l.account("acct1"), l.account("acct2")
	for n := range 20 {
		l.session(n)
		s := l.create(n)
		switch n % 5 {
		case 0:
			l.answer(s, approved())
		case 1:
			l.answer(l.timeOut(s), processor.Answer{State: processor.Declined, Code: "05"})
		case 2:
			l.answer(l.answer(s, processor.Answer{State: processor.Pending}), approved())
		case 3:
			l.timeOut(s)
		}
	}
	s := l.answerTo(l.create(20), 1, processor.Answer{State: processor.ActionRequired})
	s = l.answerTo(l.resume(s), 3, approved())
	l.claim(s.ID, "key-of-a-capture")
	s = l.answerTo(l.capture(s, 400), 5, approved())
	s = l.answerTo(l.refund(s, 100), 7, approved())
	l.cancel(s)
	l.addKey(first, "second-acct1")
	return l
}

// TestAnyPrefix checks that the rows are the same after any applied prefix of the log, and however
// often events are delivered again.
func TestAnyPrefix(t *testing.T) {
	t.Parallel()
	l := story(3)
	whole := openTestModel(t, filepath.Join(t.TempDir(), FileName), 3)
	defer mustClose(t, whole)
	mustApply(t, whole, l.all)
	want := dump(t, whole)
	path := filepath.Join(t.TempDir(), FileName)
	for n := range len(l.all) + 1 {
		m := openTestModel(t, path, 3) // goes on with the file of the round before
		mustApply(t, m, l.all[:n])     // which has all but the last of these
		mustClose(t, m)
	}
	again := openTestModel(t, path, 3)
	defer mustClose(t, again)
	if got := dump(t, again); !slices.Equal(got, want) {
		t.Errorf("one by one gives\n%s\nat once gives\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(whole.directory.table.Load().byKey) != 3 {
		t.Errorf("the directory knows the keys %v", whole.directory.table.Load().byKey)
	}
}

// TestCrashBeforeCommit: a file as it is on disk while a batch is being written has nothing of the
// batch, neither rows nor places.
func TestCrashBeforeCommit(t *testing.T) {
	ctx := context.Background()
	l := story(3)
	path := filepath.Join(t.TempDir(), FileName)
	m := openTestModel(t, path, 3)
	mustApply(t, m, l.all[:30])
	before := dump(t, m)

	b, err := folded(ctx, nil, m.places, l.all[30:])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Writer().ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.writeRows(ctx, b), m.writePlaces(ctx, b)); err != nil {
		t.Fatal(err)
	}
	crashed := filepath.Join(t.TempDir(), FileName)
	copyDatabase(t, path, crashed)
	if _, err := m.Writer().ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	m.packer, m.counter = nil, nil // as after a transaction that failed
	mustApply(t, m, l.all)
	want := dump(t, m)
	mustClose(t, m)

	after := openTestModel(t, crashed, 3)
	defer mustClose(t, after)
	if got := dump(t, after); !slices.Equal(got, before) {
		t.Errorf("after the crash\n%s\nbefore the batch\n%s", strings.Join(got, "\n"), strings.Join(before, "\n"))
	}
	mustApply(t, after, l.all)
	if got := dump(t, after); !slices.Equal(got, want) {
		t.Error("applied again after the crash the rows differ")
	}
}

func copyDatabase(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		in, err := os.Open(from + suffix)
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(to + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(in.Close(), out.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPoison: in front of an event that cannot be applied everything is applied once, and nothing
// after it.
func TestPoison(t *testing.T) {
	t.Parallel()
	for name, corrupt := range map[string]func(*eventstore.Recorded){
		"unknown type":      func(r *eventstore.Recorded) { r.Type = "payment.teleported" },
		"unknown aggregate": func(r *eventstore.Recorded) { r.Aggregate = "parcel" },
		"newer schema":      func(r *eventstore.Recorded) { r.Schema++ },
		"bad body":          func(r *eventstore.Recorded) { r.Body = r.Body[:len(r.Body)/2] },
		"no state":          func(r *eventstore.Recorded) { r.Body = []byte{0x80} },
		"empty body":        func(r *eventstore.Recorded) { r.Body = nil },
		"a gap":             func(r *eventstore.Recorded) { r.Number++ },
	} {
		t.Run(name, func(t *testing.T) {
			l := story(1)
			bad := slices.IndexFunc(l.all, func(r *eventstore.Recorded) bool { return r.Type == payment.Authorized{}.Type() })
			prefix := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
			defer mustClose(t, prefix)
			mustApply(t, prefix, l.all[:bad])
			want := dump(t, prefix)

			good := *l.all[bad]
			corrupt(l.all[bad])
			m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
			defer mustClose(t, m)
			for range 2 { // handed out again it is refused again
				var p *poison
				if err := m.apply(context.Background(), l.all); !errors.As(err, &p) || p.event != l.all[bad] {
					t.Fatalf("applying gives %v", err)
				} else if text := err.Error(); !strings.Contains(text, l.all[bad].Key.String()) || !strings.Contains(text, l.all[bad].Type) {
					t.Errorf("the error does not name the event: %s", text)
				}
				if got := dump(t, m); !slices.Equal(got, want) {
					t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			*l.all[bad] = good // a build that knows the event goes on from there
			mustApply(t, m, l.all)
		})
	}
}

// TestUnreadableOldState: an unreadable state stops a model, unless the same batch has a newer
// state of the aggregate.
func TestUnreadableOldState(t *testing.T) {
	l := newLogbook(1)
	l.answer(l.create(1), approved())
	undamaged := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, undamaged)
	mustApply(t, undamaged, l.all)
	want := dump(t, undamaged)

	l.all[0].Body = l.all[0].Body[:len(l.all[0].Body)-1]
	m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
	defer mustClose(t, m)
	var p *poison
	if err := m.apply(context.Background(), l.all[:1]); !errors.As(err, &p) || p.event != l.all[0] {
		t.Errorf("alone it gives %v", err)
	}
	mustApply(t, m, l.all)
	if got := dump(t, m); !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRevisionGap: an event that does not follow the newest one of its aggregate is refused, in the
// batch of that one and after it.
func TestRevisionGap(t *testing.T) {
	for _, together := range []bool{true, false} {
		l := newLogbook(1)
		l.answer(l.create(1), approved())
		l.all[1].Revision++
		m := openTestModel(t, filepath.Join(t.TempDir(), FileName), 1)
		if !together {
			mustApply(t, m, l.all[:1])
		}
		if err := m.apply(context.Background(), l.all); err == nil {
			t.Errorf("together %t: the gap is not seen", together)
		}
		rows, err := m.listPayments(context.Background(), testAccount, PaymentFilter{}, nil, nil, 9)
		if err != nil || len(rows) != 1 || rows[0].revision != 1 {
			t.Errorf("together %t: rows %v, %v", together, rows, err)
		}
		mustClose(t, m)
	}
}

// TestOlderSchema: the state in an event of an older schema is not used; the fold from the state
// before it is.
func TestOlderSchema(t *testing.T) {
	older := eventstore.Payments.Schema
	newer := format.NewAggregate("payment", older+1, payment.Events(), payment.Evolve)
	newer.Core.Upgrades[payment.Created{}.Type()] = map[int]format.Upgrade{older: func(e map[string]any) map[string]any {
		e["orderId"] = "upgraded " + e["orderId"].(string)
		return e
	}}
	l := newLogbook(1)
	l.answer(l.create(1), approved())
	v := view[payment.State]{}
	var err error
	if _, err = apply(newer, v, l.all[1]); !errors.Is(err, errIncomplete) {
		t.Errorf("without the state before it the second event gives %v", err)
	}
	for range 2 { // the second round was seen
		for _, r := range l.all {
			if v, err = apply(newer, v, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := decode(newer, &v); err != nil {
		t.Fatal(err)
	}
	if v.state.OrderID != "upgraded order-1" || v.state.Status() != payment.StatusAuthorized || v.revision != 2 || v.before != 0 {
		t.Errorf("folded %+v", v)
	}
}

// TestFileMadeAnew: a file of another version, of another number of shards, of another program, or
// with a damaged page is made anew; the log is then applied from the start.
func TestFileMadeAnew(t *testing.T) {
	l := story(3)
	for name, corrupt := range map[string]func(t *testing.T, path string){
		"other version": func(t *testing.T, path string) { execute(t, path, "UPDATE meta SET identity = 'payledger views 0'") },
		"other program": func(t *testing.T, path string) { execute(t, path, "DROP TABLE meta") },
		"bad position":  func(t *testing.T, path string) { execute(t, path, "UPDATE positions SET shard = 77 WHERE shard = 1") },
		"not a database": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), FileName)
			m := openTestModel(t, path, 3)
			mustApply(t, m, l.all)
			want := dump(t, m)
			mustClose(t, m)
			corrupt(t, path)
			m = openTestModel(t, path, 3)
			defer mustClose(t, m)
			if !slices.Equal(m.positions(), []uint64{0, 0, 0}) {
				t.Fatalf("it goes on at %v", m.positions())
			}
			mustApply(t, m, l.all)
			if !slices.Equal(dump(t, m), want) {
				t.Error("the rows differ")
			}
		})
	}
}

func execute(t *testing.T, path, statement string) {
	t.Helper()
	m, err := sqlitefile.Open(context.Background(), path, Identity(3), Tables, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Writer().ExecContext(context.Background(), statement); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedPages: a file that turns out to be damaged while it is used is an error, and is gone
// after Close: the next start makes it anew.
func TestDamagedPages(t *testing.T) {
	l := story(1)
	path := filepath.Join(t.TempDir(), FileName)
	m := openTestModel(t, path, 1)
	mustApply(t, m, l.all[:40])
	mustClose(t, m)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root := pageOf(t, path, "payments")
	for i := range 4096 {
		data[(root-1)*4096+i] = 0xa5
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	m = openTestModel(t, path, 1)
	if err := m.apply(context.Background(), l.all); err == nil || !sqlitefile.Unusable(err) {
		t.Errorf("a damaged file gives %v", err)
	}
	if _, err := m.listPayments(context.Background(), testAccount, PaymentFilter{}, nil, nil, 9); !sqlitefile.Unusable(err) {
		t.Errorf("reading a damaged file gives %v", err)
	}
	mustClose(t, m)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the damaged file is still there: %v", err)
	}
}

func pageOf(t *testing.T, path, table string) int {
	t.Helper()
	d, err := sqlitefile.Open(context.Background(), path, Identity(1), Tables, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var page int
	if err := d.Writer().QueryRowContext(context.Background(), "SELECT rootpage FROM sqlite_schema WHERE name = ?", table).Scan(&page); err != nil {
		t.Fatal(err)
	}
	return page
}

// TestPathIsNoOption checks that a folder's name may contain characters that have a meaning in a
// connection string.
func TestPathIsNoOption(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?mode=memory&c%20#d")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	m, err := openModel(context.Background(), path, nil, 1, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, m)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
}

// TestVocabulary checks that the projection knows every event type of every aggregate, also the
// types without a view.
func TestVocabulary(t *testing.T) {
	knows(t, eventstore.Payments.Name, payment.Events())
	knows(t, eventstore.Sessions.Name, session.Events())
	knows(t, eventstore.Instruments.Name, instrument.Events())
	knows(t, eventstore.Accounts.Name, account.Events())
	knows(t, eventstore.Persons.Name, person.Events())
	knows(t, eventstore.Workflows.Name, workflow.Events())
	knows(t, eventstore.WorkflowRuns.Name, workflow.RunEvents())
	knows(t, eventstore.Webhooks.Name, webhook.Events())

	knows(t, eventstore.Logs.Name, []eventstore.LogInitialized{{}})
}

func knows[E domain.Event](t *testing.T, aggregate string, events []E) {
	t.Helper()
	for _, e := range events {
		r := &eventstore.Recorded{Key: eventstore.Key{Aggregate: aggregate}, Type: e.Type(), Schema: 1}
		if err := understood(r); err != nil {
			t.Error(err)
		}
	}
}
