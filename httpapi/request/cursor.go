package request

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"payledger/httpapi/validation"
	"payledger/projections/listing"
)

// Cursors encodes and decodes the cursors of one list for one account and one filter (D11). A cursor is a place with its HMAC, so
// a changed cursor and a cursor of another list, account or filter are detected.
type Cursors struct {
	key  []byte
	list []byte // the HMAC covers list and place
}

// Cursors returns the Cursors of a list for the caller's account and a filter. The filter must encode as JSON.
func (c *Call) Cursors(list string, filter any) Cursors {
	text, err := json.Marshal([]any{list, c.Merchant.ID, filter})
	if err != nil {
		panic(err) // a filter has strings, integers and dates within RFC 3339
	}
	return Cursors{key: c.CursorKey, list: text}
}

// cursorPurpose separates the HMACs of cursors from everything else that the key signs.
const cursorPurpose = "payledger cursor\x00"

// A cursor consists of the HMAC, a byte of flags, the time in microseconds since 1970, and the element's id.
const (
	cursorCodeSize = 16
	cursorHead     = cursorCodeSize + 1 + 8

	cursorNewer byte = 1
	cursorHere  byte = 2
)

var errCursor = errors.New("httpapi: not a cursor of this list")

// Text encodes a place; "" for nil.
func (c Cursors) Text(p *listing.Place) string {
	if p == nil {
		return ""
	}
	var way byte
	if p.Newer {
		way |= cursorNewer
	}
	if p.Here {
		way |= cursorHere
	}
	place := append(binary.BigEndian.AppendUint64([]byte{way}, uint64(p.At.UnixMicro())), p.ID...)
	return base64.RawURLEncoding.EncodeToString(append(c.code(place), place...))
}

// Place decodes a cursor of Text; nil for "".
func (c Cursors) Place(text string) (*listing.Place, error) {
	if text == "" {
		return nil, nil
	}
	all, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(all) < cursorHead || !hmac.Equal(all[:cursorCodeSize], c.code(all[cursorCodeSize:])) {
		return nil, errCursor
	}
	if base64.RawURLEncoding.EncodeToString(all) != text { // a line break, or unused bits at the end that are not zero
		return nil, errCursor
	}
	way, at := all[cursorCodeSize], binary.BigEndian.Uint64(all[cursorCodeSize+1:])
	return &listing.Place{
		At: time.UnixMicro(int64(at)).UTC(), ID: string(all[cursorHead:]),
		Newer: way&cursorNewer != 0, Here: way&cursorHere != 0,
	}, nil
}

// Check sets Call.From to the place of the request's cursor. It adds a violation if that is not a cursor of this list.
func (c Cursors) Check(v *validation.Violations, call *Call) {
	var err error
	if call.From, err = c.Place(call.Query.Get("cursor")); err != nil {
		v.Add("$.cursor", "is not a cursor of this list")
	}
}

func (c Cursors) code(place []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(cursorPurpose))
	mac.Write(c.list)
	mac.Write([]byte{0}) // a separator: JSON contains no zero byte
	mac.Write(place)
	return mac.Sum(nil)[:cursorCodeSize]
}
