package jsontext

import "unicode/utf8"

const digits = "0123456789abcdef"

// plain are the bytes of ASCII that stand in JSON as they are; <, > and & only if HTML is not
// escaped.
var plain = func() (plain [utf8.RuneSelf]bool) {
	for c := range plain {
		plain[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return plain
}()

// Append appends s as a JSON string. html escapes <, > and &, as json.Marshal does.
func Append[T ~string | ~[]byte](b []byte, s T, html bool) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain[c] && !(html && (c == '<' || c == '>' || c == '&')) {
				i++
				continue
			}
			b = escaped(append(b, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029': // line breaks of JavaScript
			b = append(append(b, s[start:i]...), '\\', 'u', '2', '0', '2', digits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(b, s[start:]...), '"')
}

func escaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	default:
		return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
	}
}
