package adapter

import (
	"bytes"
	"strconv"

	"payledger/domain"
)

// replacement stands for a control character, as an escape of JSON.
const replacement = `\ufffd`

// firstOfC1 is the first byte of the control characters U+0080 to U+009F in UTF-8.
const firstOfC1 = 0xc2

// withoutControls returns a JSON text in which each control character of a string but TAB, LF and
// CR is U+FFFD (D22.5). Readers of exported tables do not take control characters, and what a
// processor tells is recorded all the same. A text without one is returned as it is. A control
// character in any other form is no JSON, and the text will be refused.
func withoutControls(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 && bytes.IndexByte(text, firstOfC1) < 0 {
		return text
	}
	var out []byte
	copied := 0
	for i := 0; i < len(text); {
		size, control := character(text[i:])
		if control {
			out = append(append(out, text[copied:i]...), replacement...)
			copied = i + size
		}
		i += size
	}
	if copied == 0 {
		return text
	}
	return append(out, text[copied:]...)
}

// character returns the number of bytes of the first character or escape of a text, and whether it
// is such a control character.
func character(text []byte) (size int, control bool) {
	switch {
	case text[0] == firstOfC1 && len(text) > 1:
		_, control = domain.ControlCharacter(string(text[:2]), true)
		return 2, control
	case text[0] != '\\' || len(text) == 1:
		return 1, false
	case text[1] == 'b' || text[1] == 'f':
		return 2, true
	case text[1] != 'u' || len(text) < 6:
		return 2, false
	}
	code, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 2, false
	}
	_, control = domain.ControlCharacter(string(rune(code)), true)
	return 6, control
}
