package proof

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"payledger/domain/exactjson"
)

// Format names this form of the file.
const Format = "payledger-proof-1"

// ErrMalformed means that bytes are no proof of this format.
var ErrMalformed = errors.New("this is no proof file")

// Head is the file without its events.
type Head struct {
	Format     string `json:"format"`
	Account    string `json:"account"`
	Payment    string `json:"payment"`
	Checkpoint string `json:"checkpoint"` // a signed note
	Newest     string `json:"newest"`     // a signed note

	Consistency *Consistency `json:"consistency,omitempty"` // with an older log
}

// Event is one event of the payment.
type Event struct {
	Revision uint64  `json:"revision"` // from 1
	Position uint64  `json:"position"` // from 1
	Hash     string  `json:"hash"`     // hexadecimal
	Raw      Bytes   `json:"raw"`
	Path     []Bytes `json:"path"` // 32 bytes each
}

// File is a whole proof.
type File struct {
	Head
	Events []Event `json:"events"`
}

// Bytes are standard base64 in JSON. Other than []byte, they accept one text only for the same
// bytes.
type Bytes []byte

// MarshalText encodes the bytes.
func (b Bytes) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText decodes the bytes.
func (b *Bytes) UnmarshalText(text []byte) error {
	if bytes.ContainsAny(text, "\r\n") {
		return errors.New("a line break in base64")
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(string(text))
	*b = decoded
	return err
}

// Parse reads a file. It accepts other spaces between the values than Write makes. Each name stands
// once and as Write spells it, and there is no other name (package exactjson): another program
// reads the same values.
func Parse(text []byte) (File, error) {
	var f File
	if err := exactjson.UnmarshalStrict(text, &f); err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if f.Format != Format {
		return File{}, fmt.Errorf("%w: its format is %q, not %q", ErrMalformed, f.Format, Format)
	}
	return f, nil
}

// Write writes a file: the head, and the events that next returns, one at a time, until it returns
// io.EOF.
func Write(to io.Writer, head Head, next func() (Event, error)) error {
	text, err := encode(head)
	if err != nil {
		return err
	}
	line := text[:len(text)-1]
	line = append(line, `,"events":[`...)
	for separator := "\n"; ; separator = ",\n" {
		event, err := next()
		if errors.Is(err, io.EOF) {
			_, err = to.Write(append(line, "\n]}\n"...))
			return err
		}
		if err != nil {
			return err
		}
		if text, err = encode(event); err != nil {
			return err
		}
		if _, err := to.Write(append(append(line, separator...), text...)); err != nil {
			return err
		}
		line = nil
	}
}

// encode returns compact JSON without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// PathOf returns the hashes of a proof's path as the file has them.
func PathOf(hashes []tlog.Hash) []Bytes {
	path := []Bytes{}
	for _, h := range hashes {
		path = append(path, h[:])
	}
	return path
}

// hashesOf is the inverse of PathOf; false if a part is no hash.
func hashesOf(path []Bytes) (hashes []tlog.Hash, ok bool) {
	for _, h := range path {
		if len(h) != tlog.HashSize {
			return nil, false
		}
		hashes = append(hashes, tlog.Hash(h))
	}
	return hashes, true
}
