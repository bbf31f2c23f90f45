package codec

import (
	"encoding/binary"
	"math"
	"time"
)

// Kind is the type of a stored value.
type Kind byte

// The kinds of stored values.
const (
	Nil Kind = iota
	Bool
	Int
	Uint // above the range of int64
	Float
	Text
	Bytes
	Time
	List
	Map
)

// Token is one stored value, without the elements of a list or a map.
type Token struct {
	Kind Kind
	// Of Bool 0 or 1; of Int the int64's bits; of Uint the value; of Float the float64's bits; of
	// List and Map the number of elements.
	N    uint64
	Data []byte // of Text and Bytes: a part of the log's bytes, not a copy
	At   time.Time
}

// Int returns the value of an Int.
func (t Token) Int() int64 { return int64(t.N) }

// Float returns the value of a Float.
func (t Token) Float() float64 { return math.Float64frombits(t.N) }

// Next returns the first value in data, and the bytes after it. The elements of a list stand after
// it one after the other, those of a map after their keys. Numbers have the kinds that
// UnmarshalGeneric gives them.
func Next(data []byte) (t Token, rest []byte, err error) {
	skip, _, ok := wireValue(data)
	if !ok || skip > uint64(len(data)) {
		return Token{}, nil, ErrMalformed
	}
	own, rest := data[1:skip], data[skip:]
	switch c := data[0]; {
	case c <= 0x7f || c >= 0xe0:
		t = Token{Kind: Int, N: uint64(int8(c))}
	case c <= 0x8f:
		t = Token{Kind: Map, N: uint64(c & 0x0f)}
	case c <= 0x9f:
		t = Token{Kind: List, N: uint64(c & 0x0f)}
	case c <= 0xbf:
		t = Token{Kind: Text, Data: own}
	case c == 0xc0:
		t = Token{Kind: Nil}
	case c == 0xc2 || c == 0xc3:
		t = Token{Kind: Bool, N: uint64(c & 1)}
	case c >= 0xc4 && c <= 0xc6:
		t = Token{Kind: Bytes, Data: own[1<<(c-0xc4):]}
	case c == 0xca:
		t = Token{Kind: Float, N: math.Float64bits(float64(math.Float32frombits(binary.BigEndian.Uint32(own))))}
	case c == 0xcb:
		t = Token{Kind: Float, N: binary.BigEndian.Uint64(own)}
	case c >= 0xcc && c <= 0xd3:
		t = integer(c, own)
	case c >= 0xd9 && c <= 0xdb:
		t = Token{Kind: Text, Data: own[1<<(c-0xd9):]}
	case c == 0xdc || c == 0xdd:
		t = Token{Kind: List, N: number(own)}
	case c == 0xde || c == 0xdf:
		t = Token{Kind: Map, N: number(own)}
	default:
		t, err = extension(c, own)
	}
	return t, rest, err
}

// number returns the whole number of 1, 2, 4 or 8 bytes.
func number(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// integer returns an integer with a code of its own: 0xcc to 0xcf are unsigned, 0xd0 to 0xd3
// signed, of 1, 2, 4 and 8 bytes.
func integer(c byte, b []byte) Token {
	n := number(b)
	if c >= 0xd0 {
		unused := 64 - 8*len(b)
		return Token{Kind: Int, N: uint64(int64(n<<unused) >> unused)}
	}
	if n > math.MaxInt64 {
		return Token{Kind: Uint, N: n}
	}
	return Token{Kind: Int, N: n}
}

// extension returns a time, the only extension in the log.
func extension(c byte, own []byte) (t Token, err error) {
	if c >= 0xc7 && c <= 0xc9 {
		own = own[1<<(c-0xc7):] // after the length
	}
	if int8(own[0]) != timestampExt {
		return Token{}, ErrMalformed
	}
	at, err := parseTimestamp(own[1:])
	return Token{Kind: Time, At: at}, err
}

// Field returns the value of the first field with a name in a map; nil if there is none.
func Field(m []byte, name string) (value []byte, err error) {
	head, rest, err := Next(m)
	if err != nil || head.Kind != Map {
		return nil, ErrMalformed
	}
	for range head.N {
		key, behind, err := Next(rest)
		if err != nil {
			return nil, err
		}
		n, err := Length(behind)
		if err != nil {
			return nil, err
		}
		if key.Kind == Text && string(key.Data) == name {
			return behind[:n], nil
		}
		rest = behind[n:]
	}
	return nil, nil
}
