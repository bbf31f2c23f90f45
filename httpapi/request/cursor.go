package request

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"payledger/httpapi/validation"
	"payledger/projections/listing"
)

// Cursors encodes and decodes the cursors of one list for one account and one filter (D11). A
// cursor is a place with two HMACs: one of the list and account, and one of the filter as well. So
// a changed cursor, a cursor of another list or account, and a cursor of other filters are
// detected, and told apart.
type Cursors struct {
	key      []byte
	list     []byte // name and account
	filtered []byte // with the filter
}

// Cursors returns the Cursors of a list for the caller's account and a filter. The filter must
// encode as JSON.
func (c *Call) Cursors(list string, filter any) Cursors {
	text := func(parts ...any) []byte {
		b, err := json.Marshal(parts)
		if err != nil {
			panic(err) // a filter has strings, integers and dates within RFC 3339
		}
		return b
	}
	return Cursors{key: c.CursorKey, list: text(list, c.Merchant.ID), filtered: text(list, c.Merchant.ID, filter)}
}

// CursorsOf returns the Cursors of a list that belongs to one thing, such as the runs of a
// workflow. It has no filter.
func (c *Call) CursorsOf(list string, id any) Cursors {
	of := c.Cursors(list, id)
	of.list = of.filtered
	return of
}

// cursorPurpose separates the HMACs of cursors from everything else that the key signs.
const cursorPurpose = "payledger cursor\x00"

// A cursor consists of the HMAC with the filter, a byte of flags, the time in microseconds since
// 1970, the HMAC without the filter, and the element's id. Cursors of earlier versions lack the
// flag cursorListed and the second HMAC.
const (
	cursorCodeSize = 16
	cursorListSize = 8
	cursorHead     = cursorCodeSize + 1 + 8

	cursorNewer  byte = 1
	cursorHere   byte = 2
	cursorListed byte = 4
)

// The faults of cursors, as violations describe them.
var (
	errCursor  = errors.New("is not a cursor of this list")
	errFilters = errors.New("is a cursor of this list with other filters; send it with the parameters of the page that it came from, or leave it out")
)

// Text encodes a place; "" for nil.
func (c Cursors) Text(p *listing.Place) string {
	if p == nil {
		return ""
	}
	way := cursorListed
	if p.Newer {
		way |= cursorNewer
	}
	if p.Here {
		way |= cursorHere
	}
	head := binary.BigEndian.AppendUint64([]byte{way}, uint64(p.At.UnixMicro()))
	place := slices.Concat(head, c.code(c.list, slices.Concat(head, []byte(p.ID)))[:cursorListSize], []byte(p.ID))
	return base64.RawURLEncoding.EncodeToString(append(c.code(c.filtered, place), place...))
}

// Place decodes a cursor of Text; nil for "".
func (c Cursors) Place(text string) (*listing.Place, error) {
	if text == "" {
		return nil, nil
	}
	all, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(all) < cursorHead || base64.RawURLEncoding.EncodeToString(all) != text { // a line break, or unused bits at the end that are not zero
		return nil, errCursor
	}
	code, head, rest := all[:cursorCodeSize], all[cursorCodeSize:cursorHead], all[cursorHead:]
	way, at, id, listed := head[0], binary.BigEndian.Uint64(head[1:]), rest, false
	if way&cursorListed != 0 {
		if len(rest) < cursorListSize {
			return nil, errCursor
		}
		id = rest[cursorListSize:]
		listed = hmac.Equal(rest[:cursorListSize], c.code(c.list, slices.Concat(head, id))[:cursorListSize])
	}
	if !hmac.Equal(code, c.code(c.filtered, all[cursorCodeSize:])) {
		if listed {
			return nil, errFilters
		}
		return nil, errCursor
	}
	return &listing.Place{
		At: time.UnixMicro(int64(at)).UTC(), ID: string(id), Newer: way&cursorNewer != 0, Here: way&cursorHere != 0,
	}, nil
}

// Check sets Call.From to the place of the request's cursor. It adds a violation if that is not a
// cursor of this list.
func (c Cursors) Check(v *validation.Violations, call *Call) {
	var err error
	if call.From, err = c.Place(call.Query.Get("cursor")); err != nil {
		v.Add("$.cursor", err.Error())
	}
}

// code returns the HMAC of a place in a list.
func (c Cursors) code(list, place []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(cursorPurpose))
	mac.Write(list)
	mac.Write([]byte{0}) // a separator: JSON contains no zero byte
	mac.Write(place)
	return mac.Sum(nil)[:cursorCodeSize]
}
