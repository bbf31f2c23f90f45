package eventstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"payledger/domain/payment"
	"payledger/eventstore"
)

// Whatever stands in the stream, reading it ends with an event or an error; an event that was read would
// be written the same again, so its hash covers all that was read.
func FuzzParseMessage(f *testing.F) {
	f.Add("ledger.0.a.payment.b", uint64(5), "1.0", "id", "payment.created", "/payledger", "a.payment.b", "2026-01-02T03:04:05.678901Z",
		"application/msgpack", "1", "2", "3", "command", "correlation", "actor", "00", []byte{0x80})
	f.Fuzz(func(t *testing.T, subject string, seq uint64, version, id, kind, source, ceSubject, at, content, schema, revision, previous, command, correlation, actor, hash string, body []byte) {
		header := nats.Header{
			"ce-specversion": {version}, "ce-id": {id}, "ce-type": {kind}, "ce-source": {source}, "ce-subject": {ceSubject}, "ce-time": {at},
			"content-type": {content}, "Ledger-Schema": {schema}, "Ledger-Revision": {revision}, "Ledger-Prev-Seq": {previous},
			"Ledger-Command-Id": {command}, "Ledger-Correlation-Id": {correlation}, "Ledger-Actor": {actor}, "Ledger-Hash": {hash},
		}
		r, err := eventstore.ParseMessage(subject, seq, header, body)
		if err != nil {
			return
		}
		again := r.Message()
		if again.Subject != subject {
			t.Errorf("subject %q became %q", subject, again.Subject)
		}
		for name, values := range header {
			if name != "Ledger-Hash" && again.Header[name][0] != values[0] {
				t.Errorf("%s: %q became %q", name, values[0], again.Header[name][0])
			}
		}
	})
}

// Whatever a body holds, decoding it ends with a value or an error.
func FuzzBody(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.hex"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(unhexLines(f, file))
	}
	f.Add([]byte("\x82\xa5event\xc6\xff\xff\xff\xff\xa5state\x80")) // four gigabytes, it says
	f.Add([]byte("\x82\xa5event\xdd\xff\xff\xff\xff\xa5state\x80"))
	all := codecs()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, c := range all {
			for _, name := range c.types {
				c.decode(&eventstore.Recorded{Type: name, Schema: c.schema, Body: body})
			}
		}
		eventstore.Generic(&eventstore.Recorded{Body: body})
	})
}

// A time comes back as it was, to the microsecond, whatever its zone.
func FuzzTime(f *testing.F) {
	f.Add(int64(0), int64(1))
	f.Add(int64(1<<34), int64(999_999))
	f.Add(int64(-1), int64(5))
	f.Fuzz(func(t *testing.T, seconds, micros int64) {
		at := time.Unix(seconds%(1<<36), micros%1_000_000*1000)
		body, err := eventstore.Payments.Encode(payment.AuthorizationTimedOut{NoAnswer: payment.NoAnswer{At: at.In(time.FixedZone("x", 3600))}}, payment.State{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := eventstore.Payments.Event(&eventstore.Recorded{Type: "payment.authorization_timed_out", Schema: eventstore.Payments.Schema, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.(payment.AuthorizationTimedOut).At; !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%s became %s", at, got)
		}
	})
}
