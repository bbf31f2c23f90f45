package parquetfile

import "encoding/binary"

// The descriptions in a Parquet file are structs of Thrift's compact protocol: fields with rising
// numbers, each with its type, and a zero byte at the end.

// The types of Thrift's compact protocol.
const (
	typeTrue      = 1
	typeByte      = 3
	typeInteger32 = 5
	typeInteger64 = 6
	typeBinary    = 8
	typeList      = 9
	typeStruct    = 12
)

// fields is a struct.
type fields struct {
	data []byte
	last int // number of the newest field
}

// value adds a field with its encoded value. Numbers rise by at most 15.
func (f *fields) value(number, kind int, encoded []byte) {
	f.data = append(f.data, byte((number-f.last)<<4|kind))
	f.data, f.last = append(f.data, encoded...), number
}

func (f *fields) integer32(number, value int) { f.value(number, typeInteger32, integer(value)) }

func (f *fields) integer64(number int, value int64) {
	f.value(number, typeInteger64, binary.AppendVarint(nil, value))
}

func (f *fields) text(number int, value string) { f.value(number, typeBinary, text(value)) }

func (f *fields) list(number, kind int, l list) { f.value(number, typeList, l.of(kind)) }

// end returns the whole struct.
func (f *fields) end() []byte { return append(f.data, 0) }

// integer is an integer outside a field.
func integer(value int) []byte { return binary.AppendVarint(nil, int64(value)) }

// text is a text outside a field.
func text(value string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(value))), value...)
}

// list is a list of encoded values of one type.
type list struct {
	n    int
	data []byte
}

func listOf(encoded []byte) list { return list{1, encoded} }

func (l *list) add(encoded []byte) { l.n, l.data = l.n+1, append(l.data, encoded...) }

func (l *list) of(kind int) []byte {
	var head []byte
	if l.n < 15 {
		head = []byte{byte(l.n<<4 | kind)}
	} else {
		head = binary.AppendUvarint([]byte{byte(15<<4 | kind)}, uint64(l.n))
	}
	return append(head, l.data...)
}
