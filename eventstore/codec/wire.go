package codec

import "errors"

// maxDepth is how deep values may stand in each other; the deepest of the log stands at six.
const maxDepth = 32

// ErrMalformed means that bytes are not one whole msgpack value.
var ErrMalformed = errors.New("eventstore: not one whole msgpack value")

// CheckWire walks over data, one whole value, without decoding it: a damaged length would make the
// library ask for gigabytes.
func CheckWire(data []byte) error {
	if n, err := Length(data); err != nil || n != len(data) {
		return ErrMalformed
	}
	return nil
}

// Length is how many bytes the value at the start of data takes, with its children.
func Length(data []byte) (int, error) {
	var open [maxDepth]uint64 // values still to come, by depth
	depth, rest := 0, data
	for open[0] = 1; ; {
		for open[depth] == 0 {
			if depth == 0 {
				return len(data) - len(rest), nil
			}
			depth--
		}
		open[depth]--
		skip, children, ok := wireValue(rest)
		if !ok || skip > uint64(len(rest)) || children > uint64(len(rest))-skip {
			return 0, ErrMalformed
		}
		rest = rest[skip:]
		if children > 0 {
			if depth++; depth == maxDepth {
				return 0, ErrMalformed
			}
			open[depth] = children
		}
	}
}

// wireValue returns the number of bytes of the value at the start of data without its children, and
// the number of these.
func wireValue(data []byte) (skip, children uint64, ok bool) {
	if len(data) == 0 {
		return 0, 0, false
	}
	switch c := data[0]; {
	case c <= 0x7f || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3: // small integers, nil, booleans
		return 1, 0, true
	case c <= 0x8f: // fixmap
		return 1, 2 * uint64(c&0x0f), true
	case c <= 0x9f: // fixarray
		return 1, uint64(c & 0x0f), true
	case c <= 0xbf: // fixstr
		return 1 + uint64(c&0x1f), 0, true
	case c >= 0xca && c <= 0xd3: // floats and integers: 4 8 1 2 4 8 1 2 4 8 bytes
		return 1 + [...]uint64{4, 8, 1, 2, 4, 8, 1, 2, 4, 8}[c-0xca], 0, true
	case c >= 0xd4 && c <= 0xd8: // fixext: a type and 1 2 4 8 16 bytes
		return 2 + 1<<(c-0xd4), 0, true
	default:
		return wireLong(c, data[1:])
	}
}

// wireLong is wireValue for what carries its length in front.
func wireLong(c byte, data []byte) (skip, children uint64, ok bool) {
	kind := longKinds[c]
	if kind.size == 0 || len(data) < kind.size {
		return 0, 0, false
	}
	n := number(data[:kind.size])
	if kind.children > 0 {
		return 1 + uint64(kind.size), n * uint64(kind.children), true
	}
	return 1 + uint64(kind.size+kind.extra) + n, 0, true
}

// longKinds has, by a value's first byte, the size of its length, what else stands beside it, and
// the children per unit of length.
var longKinds = [256]struct{ size, extra, children int }{
	0xc4: {1, 0, 0}, 0xc5: {2, 0, 0}, 0xc6: {4, 0, 0}, // bin
	0xc7: {1, 1, 0}, 0xc8: {2, 1, 0}, 0xc9: {4, 1, 0}, // ext
	0xd9: {1, 0, 0}, 0xda: {2, 0, 0}, 0xdb: {4, 0, 0}, // str
	0xdc: {2, 0, 1}, 0xdd: {4, 0, 1}, // array
	0xde: {2, 0, 2}, 0xdf: {4, 0, 2}, // map
}
