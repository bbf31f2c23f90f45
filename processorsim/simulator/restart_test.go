package simulator_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"payledger/domain/processor"
	"payledger/processorsim/adapter"
	"payledger/processorsim/simulator"
)

func (b *bench) file() string { return filepath.Join(b.dir, "books.jsonl") }

// killed returns a bench on a copy of the file as after kill -9: nothing closed, nothing flushed.
func (b *bench) killed(file []byte) *bench {
	b.t.Helper()
	copied := &bench{t: b.t, dir: b.t.TempDir(), clock: newClock(b.clock.Now()), log: &syncBuffer{}, keys: b.keys}
	must(b.t, os.WriteFile(copied.file(), file, 0o600))
	copied.open()
	return copied
}

func (b *bench) bytes() []byte {
	b.t.Helper()
	file, err := os.ReadFile(b.file())
	must(b.t, err)
	return file
}

// TestKill checks that each answered operation is in the file when the answer arrives.
func TestKill(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	b.send(b.on(sale, processor.Capture, 400))
	b.send(b.on(sale, processor.Refund, 100))
	b.send(b.on(sale, processor.Void, 0))
	fenced := b.authorize("4242424242424242", 1)
	_, err := b.client.Fence(t.Context(), fenced.Processor, fenced.Key)
	must(t, err)
	copied := b.killed(b.bytes())
	defer copied.close()
	if got, want := copied.books(), b.books(); !reflect.DeepEqual(got, want) {
		t.Errorf("after the kill %+v\nbefore %+v", got, want)
	}
	if l := copied.lookup(fenced); l.State != processor.Fenced {
		t.Errorf("%+v", l)
	}
	expect(t, copied.send(copied.on(sale, processor.Refund, 301)), processor.Failed, "amount_above_captured")
	expect(t, copied.send(copied.on(sale, processor.Refund, 300)), processor.Succeeded, "")
}

// TestTornLine cuts the last record at every byte: the rest is whole, and the operation can be sent
// again.
func TestTornLine(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	before := len(b.bytes())
	op := b.on(sale, processor.Capture, 1000)
	b.send(op)
	whole := b.bytes()
	for length := before; length < len(whole); length++ {
		copied := b.killed(whole[:length])
		if n := len(copied.books()); n != 1 {
			t.Fatalf("cut at %d: %d lines", length, n)
		}
		if torn := length > before; strings.Contains(copied.log.String(), "torn") != torn {
			t.Errorf("cut at %d: log %q", length, copied.log)
		}
		if size := len(copied.bytes()); size != before {
			t.Errorf("cut at %d: the file has %d bytes, want %d", length, size, before)
		}
		if length%16 == 0 || length == len(whole)-1 {
			expect(t, copied.send(op), processor.Succeeded, "")
			copied.reopen()
			if n := len(copied.books()); n != 2 {
				t.Fatalf("cut at %d, sent again: %d lines", length, n)
			}
		}
		copied.close()
	}
}

// TestDamage: a bad line anywhere else stops the start and is named.
func TestDamage(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	b.send(b.on(sale, processor.Capture, 1000))
	whole := b.bytes()
	lines := bytes.SplitAfter(whole, []byte("\n"))
	rows := map[string][]byte{
		"not JSON":         append([]byte("{\n"), whole...),
		"bad last line":    append(bytes.Clone(whole), "{}\n"...),
		"unknown type":     append(bytes.Clone(whole), `{"type":"wished","at":"2026-03-01T12:00:00Z"}`+"\n"...),
		"not pending":      append(bytes.Clone(whole), `{"type":"finished","id":"op_x","answer":{}}`+"\n"...),
		"no operation":     append(bytes.Clone(whole), `{"type":"accepted"}`+"\n"...),
		"unknown card":     bytes.Replace(whole, []byte(`"visa-2"`), []byte(`"visa-99"`), 1),
		"a line twice":     append(bytes.Clone(whole), lines[1]...),
		"a line lost":      lines[1],
		"notified unknown": append(bytes.Clone(whole), `{"type":"notified","id":"op_x"}`+"\n"...),
	}
	for name, file := range rows {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "books.jsonl"), file, 0o600))
		_, err := simulator.New(simulator.Config{Dir: dir, Secret: secret})
		if err == nil || !strings.Contains(err.Error(), "books.jsonl line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOneAtATime: two simulators on one folder would overwrite each other's history.
func TestOneAtATime(t *testing.T) {
	b := newBench(t)
	if _, err := simulator.New(simulator.Config{Dir: b.dir, Secret: secret}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Error(err)
	}
	if _, err := simulator.New(simulator.Config{Dir: filepath.Join(b.dir, "none"), Secret: secret}); err == nil {
		t.Error("a folder that is not there")
	}
	if _, err := simulator.New(simulator.Config{Dir: b.dir}); err == nil {
		t.Error("no secret")
	}
}

// TestClosed: after Close everything is refused with 503, an unknown outcome.
func TestClosed(t *testing.T) {
	b := newBench(t)
	op := b.authorize("4242424242424242", 1000)
	must(t, b.sim.Close())
	unknown(t, b.try(op))
	if _, err := b.client.Lookup(t.Context(), op.Processor, op.Key); err == nil || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	b.reopen()
	expect(t, b.send(op), processor.Succeeded, "")
}

// TestOverdue checks that results that fell due while the simulator was stopped are sent right
// after the start.
func TestOverdue(t *testing.T) {
	b := newBench(t)
	op := b.authorize("4000000000003220", 1000)
	b.send(op)
	b.close()
	b.clock.Advance(time.Hour)
	b.open()
	b.clock.Advance(0)
	expect(t, *b.lookup(op).Answer, processor.Succeeded, "")
}

// TestSetBack: a result and a dispute that were noted before the clock was set back come after
// their own delays.
func TestSetBack(t *testing.T) {
	for _, jump := range []time.Duration{25 * time.Hour, 72 * time.Hour} {
		b := newBench(t)
		b.clock.Advance(jump)
		op := b.authorize("4000000000003220", 1000)
		b.send(op)
		b.send(b.on(b.send(b.authorize(disputedCard, 1000)), processor.Capture, 1000))
		b.close()
		b.clock.Advance(-jump)
		b.open()
		b.clock.Advance(2 * time.Second)
		expect(t, *b.lookup(op).Answer, processor.Succeeded, "")
		if sent := b.notifications(processor.Adyen); len(sent) != 1 {
			t.Errorf("set back by %s, the dispute is not opened after its delay: %+v", jump, sent)
		}
	}
}

func TestBooksFilter(t *testing.T) {
	b := newBench(t)
	sale := b.approved(1000)
	b.clock.Advance(time.Minute)
	stripe := b.authorize("4242424242424242", 5)
	stripe.Processor, stripe.Reference = processor.Stripe, "01other"
	b.send(stripe)
	b.clock.Advance(time.Minute)
	b.send(b.on(sale, processor.Capture, 1000))
	for _, row := range []struct {
		filter adapter.Filter
		want   string
	}{
		{adapter.Filter{}, "authorize authorize capture"},
		{adapter.Filter{Reference: "01payment"}, "authorize capture"},
		{adapter.Filter{Processor: processor.Stripe}, "authorize"},
		{adapter.Filter{Processor: processor.Stripe, Reference: "01payment"}, ""},
		{adapter.Filter{From: start.Add(time.Minute)}, "authorize capture"},
		{adapter.Filter{To: start.Add(time.Minute)}, "authorize authorize"},
		{adapter.Filter{From: start.Add(time.Second), To: start.Add(time.Minute)}, "authorize"},
	} {
		lines, err := b.client.Books(t.Context(), row.filter)
		must(t, err)
		var kinds []string
		for _, line := range lines {
			kinds = append(kinds, string(line.Operation))
		}
		if got := strings.Join(kinds, " "); got != row.want {
			t.Errorf("%+v: %q, want %q", row.filter, got, row.want)
		}
	}
}
