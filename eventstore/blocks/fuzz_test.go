package blocks

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"payledger/eventstore/stored"
)

// encode writes a record as the server does.
func encode(d *digest, seq uint64, at int64, subject, header, body string) []byte {
	length := uint32(emptyLen + len(subject) + len(header) + len(body))
	if header != "" {
		length = (length + 4) | headersMark
	}
	b := binary.LittleEndian.AppendUint32(nil, length)
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(subject)))
	b = append(b, subject...)
	if header != "" {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
		b = append(b, header...)
	}
	b = append(b, body...)
	d.Reset()
	_, _ = io.WriteString(d, string(b[4:20])+subject+header+body)
	return d.Sum(b)
}

// seeds are blocks of every sort of record, whole and damaged.
func seeds() [][]byte {
	d := newDigest("FUZZ", 1)
	one := encode(d, 1, 5, "a.b", "", "body")
	two := encode(d, 2, 6, "a.b", "NATS/1.0\r\nK: v\r\n\r\n", "")
	erased := encode(d, 3|erasedMark, 0, "", "", "random")
	tomb := encode(d, 1|tombMark, 0, "", "", "")
	empty := encode(d, 2, 6, "", "", "no subject")
	odd := encode(d, 2, 6, "a..b", "", "")
	short := encode(d, 2, 6, "a.b", "NATS/1.0\r\n", "")
	huge := bytes.Clone(one)
	binary.LittleEndian.PutUint32(huge, maxRecord)
	whole := bytes.Join([][]byte{one, two, erased, tomb}, nil)
	return [][]byte{
		nil, one, whole, whole[:len(whole)-3], append(bytes.Clone(one), huge...), append(huge, two...),
		append(bytes.Clone(one), empty...), append(bytes.Clone(one), odd...), append(bytes.Clone(one), short...),
		append(make([]byte, 4096), whole...), append(bytes.Clone(whole), make([]byte, 4096)...),
	}
}

// FuzzBlock checks, for any content of a block, that reading ends without a panic, returns only
// messages of the good prefix, and takes memory of at most some times the file's size.
func FuzzBlock(f *testing.F) {
	for _, b := range seeds() {
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, deletes bool) {
		var end int64
		var r *reader
		o := Options{Deletes: deletes, Handle: func(m stored.Message) error {
			if r.offset != end {
				t.Errorf("a record at %d, the one before ended at %d", r.offset, end)
			}
			end += int64(emptyLen + len(m.Subject) + len(m.Header) + len(m.Body))
			if m.Header != nil {
				end += 4
			}
			return nil
		}}
		r = newReader(newWindow(bytes.NewReader(b), int64(len(b)), nil), "FUZZ", 1, &o)
		if err := r.run(); err != nil {
			t.Fatal(err)
		}
		got := r.result
		if got.End > int64(len(b)) || got.Size != int64(len(b)) || got.Kind == Clean && got.End != got.Size {
			t.Errorf("%d bytes: %+v", len(b), got)
		}
		if (got.Kind == Clean) != (len(got.Faults) == 0) || got.Kind == Clean && got.End != end {
			t.Errorf("the records end at %d: %+v", end, got)
		}
		if held := cap(r.w.bytes) + cap(r.w.spare); held > 2*len(b)+2 {
			t.Errorf("%d bytes held for a file of %d", held, len(b))
		}
	})
}

// TestSeeds: the seeds are judged as they should be.
func TestSeeds(t *testing.T) {
	want := []Kind{Clean, Clean, Clean, Torn, Torn, Damaged, Torn, Damaged, Damaged, Damaged, Torn}
	for i, kind := range want {
		b := seeds()[i]
		r := newReader(newWindow(bytes.NewReader(b), int64(len(b)), nil), "FUZZ", 1, &Options{Deletes: true})
		if err := r.run(); err != nil || r.result.Kind != kind {
			t.Errorf("seed %d: %v %v, not %v: %v", i, r.result.Kind, err, kind, r.result.Faults)
		}
	}
}

// TestSearchIsBounded: a body that looks like records, all plausible and none valid, ends the
// search with the answer damage.
func TestSearchIsBounded(t *testing.T) {
	d := newDigest("OTHER", 1)
	record := encode(d, 9, 0, "a", "", string(make([]byte, 1<<16)))
	var b []byte
	for range 40 {
		b = append(b, record[:23]...)
	}
	b = append(b, make([]byte, 1<<17)...)
	r := newReader(newWindow(bytes.NewReader(b), int64(len(b)), nil), "FUZZ", 1, &Options{})
	r.budget = 1 << 20
	if err := r.run(); err != nil || r.result.Kind != Damaged || r.result.End != 0 {
		t.Errorf("%+v, %v", r.result, err)
	}
}

func TestLiteral(t *testing.T) {
	for subject, want := range map[string]bool{
		"a": true, "a.b": true, "": false, "a.": false, ".a": false, "a..b": false, "a b": false, "a.*": false, ">": false,
		"a*": true, "a\x00": false, "é": true,
	} {
		if literal([]byte(subject)) != want {
			t.Errorf("%q: %t", subject, !want)
		}
	}
}

// FuzzOutline: an outline of any bytes ends, and covers only records that are whole by their
// lengths.
func FuzzOutline(f *testing.F) {
	for _, b := range seeds() {
		f.Add(b)
	}
	long := encode(newDigest("FUZZ", 1), 1, 5, "a.b", "", strings.Repeat("x", 2*chunk))
	next := encode(newDigest("FUZZ", 1), 2, 5, "a.b", "", "body")
	f.Add(append(long, next...))
	f.Add(append(long, next[:len(next)-1]...))
	f.Add(long[:chunk+chunk/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := outline(newWindow(bytes.NewReader(b), int64(len(b)), nil), "1.blk", "FUZZ")
		if err != nil {
			t.Fatal(err)
		}
		if (o.First == 0) != (o.Last == 0) || o.First > o.Last || o.Last-o.First > uint64(len(b)/emptyLen) {
			t.Errorf("%d bytes: %+v", len(b), o)
		}
		if o.Wrong == "" && !o.Torn && len(b) > 0 && len(b) < emptyLen {
			t.Errorf("%d bytes are whole: %+v", len(b), o)
		}
	})
}

// TestOutline: each wrong bit of a length is found, at each place of a block, also if the length
// leads beyond the file or beyond the bytes that are read at a time.
func TestOutline(t *testing.T) {
	t.Parallel()
	d := newDigest("S", 1)
	var whole []byte
	var places []int
	for seq := range uint64(20) {
		places = append(places, len(whole))
		whole = append(whole, encode(d, seq+1, 5, "a.b", "", strings.Repeat("x", 50<<10))...)
	}
	of := func(b []byte) Outline {
		t.Helper()
		o, err := outline(newWindow(bytes.NewReader(b), int64(len(b)), nil), "1.blk", "S")
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := of(whole); o != (Outline{First: 1, Last: 20}) {
		t.Errorf("%+v", o)
	}
	for i, place := range places {
		for bit := range 31 { // the highest one says that there is a header
			whole[place+bit/8] ^= 1 << (bit % 8)
			if o := of(whole); o.Wrong == "" && !o.Torn || o.Last > uint64(i+2) {
				t.Errorf("record %d, bit %d: %+v", i+1, bit, o)
			}
			whole[place+bit/8] ^= 1 << (bit % 8)
		}
		for short := 1; short < headLen; short *= 4 { // its end looks like the beginning of the next record
			cut := bytes.Clone(whole[:place+len(whole)/20])
			binary.LittleEndian.PutUint32(cut[place:], uint32(len(whole)/20-short))
			if o := of(cut); o.Wrong == "" || o.Last != uint64(i) {
				t.Errorf("record %d, %d bytes short: %+v", i+1, short, o)
			}
		}
		if o := of(whole[:place+30<<10]); !o.Torn || o.Last != uint64(i) {
			t.Errorf("cut in record %d: %+v", i+1, o)
		}
	}
}
