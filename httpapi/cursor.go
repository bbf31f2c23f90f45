package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"payledger/domain"
	"payledger/projections"
)

// cursors writes and reads the cursors of one list: an account's payments under one filter (D11). A cursor is
// a place with a code that only we can make for that list, so one that was changed, or is of another account
// or other filters, is told from ours.
type cursors struct {
	key  []byte
	list []byte // what the code covers beside the place
}

// cursors are those of the caller's payments under a filter, and of no other list.
func (c *call) cursors(f projections.PaymentFilter) cursors {
	list, err := json.Marshal([]any{"payments", c.merchant.ID, f})
	if err != nil {
		panic(err) // strings, integers and dates within RFC 3339
	}
	return cursors{key: c.api.ClientTokenKey, list: list}
}

// cursorPurpose keeps the codes of cursors apart from everything else that the key signs.
const cursorPurpose = "payledger cursor\x00"

// A cursor is its code, a byte that says which way it leads, the time in microseconds since 1970, and the
// payment's id.
const (
	cursorCodeSize = 16
	cursorHead     = cursorCodeSize + 1 + 8

	cursorNewer byte = 1
	cursorHere  byte = 2
)

var errCursor = errors.New("httpapi: not a cursor of this list")

// text writes a place; nil is "".
func (c cursors) text(p *projections.Place) string {
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

// place reads what text wrote for this list; "" is no place.
func (c cursors) place(text string) (*projections.Place, error) {
	if text == "" {
		return nil, nil
	}
	all, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(all) < cursorHead || !hmac.Equal(all[:cursorCodeSize], c.code(all[cursorCodeSize:])) {
		return nil, errCursor
	}
	if base64.RawURLEncoding.EncodeToString(all) != text { // line breaks, and loose bits at the end
		return nil, errCursor
	}
	way, at := all[cursorCodeSize], binary.BigEndian.Uint64(all[cursorCodeSize+1:])
	return &projections.Place{
		At: time.UnixMicro(int64(at)).UTC(), ID: domain.PaymentID(all[cursorHead:]),
		Newer: way&cursorNewer != 0, Here: way&cursorHere != 0,
	}, nil
}

func (c cursors) code(place []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(cursorPurpose))
	mac.Write(c.list)
	mac.Write([]byte{0}) // JSON has none
	mac.Write(place)
	return mac.Sum(nil)[:cursorCodeSize]
}
