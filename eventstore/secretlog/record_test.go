package secretlog_test

import (
	"bytes"
	"strings"
	"testing"

	"payledger/eventstore/secretlog"
	"payledger/eventstore/stored"
)

// FuzzParse: parsing any bytes returns a record or an error. Encoding the record gives the same
// bytes, unless a varint in them was longer than necessary.
func FuzzParse(f *testing.F) {
	f.Add(uint64(7), secretlog.Encode(0, "customer-key.acct.id", "", []byte("box"), nil))
	f.Add(uint64(900), secretlog.Encode(1, "customer-key.acct.id", "", nil, []uint64{7}))
	f.Add(uint64(900), secretlog.Encode(1, "", "card.29", nil, []uint64{1, 2, 300, 899}))
	f.Add(uint64(900), []byte("PLS1\x01\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add(uint64(900), secretlog.EncodeGeneration(3, 7, 0, "a.b", []byte("box")))
	f.Add(uint64(900), secretlog.EncodeGeneration(4, 700, 300, "a.b", []byte("box")))
	f.Add(uint64(900), secretlog.EncodeGeneration(5, 7, 0, "", []byte("proof")))
	f.Add(uint64(900), secretlog.EncodeDropped(3, 300, 7))
	f.Fuzz(func(t *testing.T, seq uint64, data []byte) {
		kind, name, group, value, ended, err := secretlog.Parse(seq, data)
		if err != nil || kind > 1 { // the fields of generations and drops are not in the answer
			return
		}
		for i, e := range ended {
			if e == 0 || e >= seq || i > 0 && e <= ended[i-1] {
				t.Errorf("%d names %d", seq, ended)
			}
		}
		if again := secretlog.Encode(kind, name, group, value, ended); len(again) == len(data) && !bytes.Equal(again, data) || len(again) > len(data) {
			t.Errorf("%x became %x", data, again)
		}
	})
}

// TestLayout checks the layout that record.go describes.
func TestLayout(t *testing.T) {
	for text, body := range map[string][]byte{
		"PLS1\x00\x00\x03a.bbox":                             secretlog.Encode(0, "a.b", "", []byte("box"), nil),
		"PLS1\x01\x00\x03a.b\x00\x00\x01\x07":                secretlog.Encode(1, "a.b", "", nil, []uint64{7}),
		"PLS1\x03\x00\x03a.b\x07box":                         secretlog.EncodeGeneration(3, 7, 0, "a.b", []byte("box")),
		"PLS1\x02\x00\x00\x03\xac\x02\x07":                   secretlog.EncodeDropped(3, 300, 7),
		"PLS1\x04\x00\x03a.b\xac\x02\x07box":                 secretlog.EncodeGeneration(4, 300, 7, "a.b", []byte("box")),
		"PLS1\x05\x00\x00\x00proof":                          secretlog.EncodeGeneration(5, 0, 0, "", []byte("proof")),
		"PLS1\x01\x00\x00\x00\x06card.7\x03\x01\x01\xaa\x02": secretlog.Encode(1, "", "card.7", nil, []uint64{1, 2, 300}),
	} {
		if string(body) != text {
			t.Errorf("%q instead of %q", body, text)
		}
		if _, _, _, _, _, err := secretlog.Parse(301, []byte(text)); err != nil {
			t.Error(err)
		}
		for cut := range len(text) {
			_, _, _, value, _, err := secretlog.Parse(301, []byte(text[:cut]))
			if err == nil && (text[4] == 1 || text[4] == 2) || err == nil && strings.HasPrefix(string(value), "box") {
				t.Errorf("%q was read", text[:cut])
			}
		}
	}
}

// TestDamagedDrop: a damaged message that looks like a drop destroys nothing, and takes no time.
func TestDamagedDrop(t *testing.T) {
	t.Parallel()
	ended := stored.Sequences{}
	if err := secretlog.AddEnded(ended, 900, secretlog.EncodeDropped(3, 1000, 7)); err == nil || ended.Lowest() > 0 {
		t.Errorf("it destroys %d, %v", ended.Lowest(), err)
	}
}
