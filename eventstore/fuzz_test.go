package eventstore_test

import (
	"bytes"
	"crypto/sha256"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/format"
)

// Whatever stands where a frame should, reading it ends with an event or an error; a frame that was read would be
// written the same again, so its hash covers all that was read.
func FuzzParseFrame(f *testing.F) {
	first, next := examples(f)
	f.Add(first.AppendFrame(nil))
	f.Add(append(next.AppendFrame(nil), "more"...))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff")) // eight gigabytes, it says
	f.Add(withLine(first.AppendFrame(nil), "Ledger-Schema", strings.Repeat("0", 20_000)+"1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, rest, err := eventstore.ParseFrame(data)
		if err != nil {
			return
		}
		if again := r.AppendFrame(nil); !bytes.Equal(again, data[:len(data)-rest]) {
			t.Errorf("%q became %q", data[:len(data)-rest], again)
		}
	})
}

// Whatever a message holds, reading it ends with a group or an error, and takes no more memory than the format allows; a
// group that is not compressed would be written the same again. The hash is put right, so that what it covers is read.
func FuzzParseGroup(f *testing.F) {
	for _, g := range layoutGroups(f) {
		f.Add(g.EncodePlain())
		f.Add(g.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= eventstore.GroupHeader+sha256.Size {
			eventstore.Rehash(data)
		}
		g, err := eventstore.ParseGroup(data)
		if err != nil {
			return
		}
		if g.Size > eventstore.MaxFrameBytes || len(g.Frames) > eventstore.MaxFrames {
			t.Errorf("%d frames of %d bytes", len(g.Frames), g.Size)
		}
		const compression = 5 // its place in the header
		if again := g.EncodePlain(); data[compression] == 0 && !bytes.Equal(again, data) {
			t.Errorf("%x became %x", data, again)
		}
		if again, err := eventstore.ParseGroup(g.Encode()); err != nil || len(again.Frames) != len(g.Frames) {
			t.Errorf("written again, it cannot be read: %v", err)
		}
	})
}

// Whatever a body holds, decoding it ends with a value or an error.
func FuzzBody(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.hex"))
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(files); i += scale(7, 1) {
		f.Add(unhexLines(f, files[i]))
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
		format.Generic(&eventstore.Recorded{Body: body})
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

// Whatever a message of SECRETS holds, reading it ends with a record or an error, and a record would be written the same
// again, but for numbers that are written longer than they need be.
func FuzzParseSecret(f *testing.F) {
	f.Add(uint64(7), eventstore.EncodeSecret(0, "customer-key.acct.id", "", []byte("box"), nil))
	f.Add(uint64(900), eventstore.EncodeSecret(1, "customer-key.acct.id", "", nil, []uint64{7}))
	f.Add(uint64(900), eventstore.EncodeSecret(1, "", "card.29", nil, []uint64{1, 2, 300, 899}))
	f.Add(uint64(900), []byte("PLS1\x01\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, seq uint64, data []byte) {
		kind, name, group, value, ended, err := eventstore.ParseSecret(seq, data)
		if err != nil {
			return
		}
		for i, e := range ended {
			if e == 0 || e >= seq || i > 0 && e <= ended[i-1] {
				t.Errorf("%d names %d", seq, ended)
			}
		}
		if again := eventstore.EncodeSecret(kind, name, group, value, ended); len(again) == len(data) && !bytes.Equal(again, data) || len(again) > len(data) {
			t.Errorf("%x became %x", data, again)
		}
	})
}

// The layout of SECRETS, as doc.go has it.
func TestSecretLayout(t *testing.T) {
	for text, body := range map[string][]byte{
		"PLS1\x00\x00\x03a.bbox":                             eventstore.EncodeSecret(0, "a.b", "", []byte("box"), nil),
		"PLS1\x01\x00\x03a.b\x00\x00\x01\x07":                eventstore.EncodeSecret(1, "a.b", "", nil, []uint64{7}),
		"PLS1\x01\x00\x00\x00\x06card.7\x03\x01\x01\xaa\x02": eventstore.EncodeSecret(1, "", "card.7", nil, []uint64{1, 2, 300}),
	} {
		if string(body) != text {
			t.Errorf("%q instead of %q", body, text)
		}
		if _, _, _, _, _, err := eventstore.ParseSecret(301, []byte(text)); err != nil {
			t.Error(err)
		}
		for cut := range len(text) {
			_, _, _, value, _, err := eventstore.ParseSecret(301, []byte(text[:cut]))
			if err == nil && text[4] == 1 || err == nil && strings.HasPrefix(string(value), "box") {
				t.Errorf("%q was read", text[:cut])
			}
		}
	}
}
