package engine_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"payledger/domain/payment"
	"payledger/eventstore"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/format"
)

// FuzzParseFrame checks that reading any bytes as a frame returns an event or an error, and that an
// accepted frame has the same bytes when it is written again, so that its hash covers all of it.
func FuzzParseFrame(f *testing.F) {
	first, next := examples(f)
	f.Add(first.AppendFrame(nil))
	f.Add(append(next.AppendFrame(nil), "more"...))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff")) // eight gigabytes, it says
	f.Add(withLine(first.AppendFrame(nil), "Ledger-Schema", strings.Repeat("0", 20_000)+"1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, rest, err := engine.ParseFrame(data)
		if err != nil {
			return
		}
		if again := r.AppendFrame(nil); !bytes.Equal(again, data[:len(data)-rest]) {
			t.Errorf("%q became %q", data[:len(data)-rest], again)
		}
	})
}

// FuzzParseGroup checks that reading any message returns a group or an error, and takes no more
// memory than the format allows. A group that is not compressed has the same bytes when it is
// written again. The test corrects the hash, so that the content is read.
func FuzzParseGroup(f *testing.F) {
	for _, g := range layoutGroups(f) {
		f.Add(g.EncodePlain())
		f.Add(g.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= engine.FixedHeader+sha256.Size {
			engine.Rehash(data)
		}
		g, err := engine.ParseGroup(data)
		if err != nil {
			return
		}
		if g.Size > engine.MaxFrameBytes || len(g.Frames) > engine.MaxFrames {
			t.Errorf("%d frames of %d bytes", len(g.Frames), g.Size)
		}
		const compression = 5 // its place in the header
		if again := g.EncodePlain(); data[compression] == 0 && !bytes.Equal(again, data) {
			t.Errorf("%x became %x", data, again)
		}
		if again, err := engine.ParseGroup(g.Encode()); err != nil || len(again.Frames) != len(g.Frames) {
			t.Errorf("written again, it cannot be read: %v", err)
		}
	})
}

// FuzzBody checks that decoding any body returns a value or an error.
func FuzzBody(f *testing.F) {
	events := eventstoretest.Golden(f, golden)
	for i := 0; i < len(events); i += scale(2, 1) {
		f.Add(events[i].Body)
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

// FuzzTime checks that a time in any zone is the same after encoding and decoding, to the
// microsecond.
func FuzzTime(f *testing.F) {
	f.Add(int64(0), int64(1))
	f.Add(int64(1<<34), int64(999_999))
	f.Add(int64(-1), int64(5))
	f.Fuzz(func(t *testing.T, seconds, micros int64) {
		at := time.Unix(seconds%(1<<36), micros%1_000_000*1000)
		body, err := eventstore.Payments.Core.Encode("", payment.AuthorizationTimedOut{NoAnswer: payment.NoAnswer{At: at.In(time.FixedZone("x", 3600))}}, payment.State{})
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
