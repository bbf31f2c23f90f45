package frame

import (
	"bytes"
	"fmt"
	"strings"
)

// turning are the characters that turn the direction of the text after them, so that a merchant's
// or a customer's text shows as another.
const turning = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// straight returns a page whose text shows such characters as their code points: \u202e. The values
// of fields stay, because a form sends them back; a field shows its value apart from other text.
func straight(page []byte) []byte {
	if !bytes.ContainsAny(page, turning) {
		return page
	}
	var out bytes.Buffer
	for rest := page; len(rest) > 0; {
		text, tag, _ := bytes.Cut(rest, []byte("<"))
		visible(&out, text)
		if len(text) == len(rest) {
			break
		}
		end := bytes.IndexByte(tag, '>') + 1 // values are escaped: they have no ">"
		if bytes.HasPrefix(tag, []byte("textarea")) {
			end = max(end, bytes.Index(tag, []byte("</textarea>")))
		}
		if end <= 0 {
			end = len(tag)
		}
		out.WriteByte('<')
		out.Write(tag[:end])
		rest = tag[end:]
	}
	return out.Bytes()
}

func visible(out *bytes.Buffer, text []byte) {
	for _, r := range string(text) {
		if strings.ContainsRune(turning, r) {
			fmt.Fprintf(out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
}
