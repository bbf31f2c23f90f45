package streams_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"payledger/eventstore/codec"
	"payledger/eventstore/format"
	"payledger/eventstore/streams"
)

// TestFloor: a floor is read from the record with its key, and from no other one; one that is of a
// newer schema, or names no group, is refused.
func TestFloor(t *testing.T) {
	t.Parallel()
	kind := streams.KindOf(streams.DeliveryShard)
	f := streams.Floor{Segment: 3, Seq: 70, Hash: make([]byte, 32), Records: 9, Names: 4, Newest: time.UnixMicro(5).UTC(), Log: []uint64{8}}
	body, err := f.Body()
	if err != nil {
		t.Fatal(err)
	}
	f.Schema = 1
	if read, err := kind.FloorIn(&format.Recorded{Key: kind.Floor, Body: body}); err != nil || !reflect.DeepEqual(read, f) {
		t.Errorf("%+v, %v", read, err)
	}
	for name, r := range map[string]struct {
		kind *streams.Kind
		key  format.Key
	}{
		"another key":       {kind, format.Key{Account: format.SystemAccount, Aggregate: format.BesideAggregate, ID: "other"}},
		"events":            {streams.KindOf(0), kind.Floor},
		"events, of no key": {streams.KindOf(0), format.Key{}},
	} {
		if read, err := r.kind.FloorIn(&format.Recorded{Key: r.key, Body: body}); err != nil || read.Segment != 0 {
			t.Errorf("%s: %+v, %v", name, read, err)
		}
	}
	for want, change := range map[error]func(*streams.Floor){
		format.ErrNewerSchema: func(f *streams.Floor) { f.Schema = 2 },
		codec.ErrMalformed:    func(f *streams.Floor) { f.Hash = f.Hash[:31] },
	} {
		wrong := f
		change(&wrong)
		body, err := codec.Marshal(wrong)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kind.FloorIn(&format.Recorded{Key: kind.Floor, Body: body}); !errors.Is(err, want) {
			t.Errorf("%v instead of %v", err, want)
		}
	}
}
