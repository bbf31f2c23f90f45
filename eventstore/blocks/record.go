package blocks

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"

	"payledger/eventstore/stored"

	"github.com/minio/highwayhash"
)

// Sizes and marks of the server's records; doc.go shows the layout.
const (
	headLen     = 22       // length, sequence, time, length of the subject
	sumLen      = 8        // checksum
	emptyLen    = 30       // the shortest record: no subject, no header, no body
	maxRecord   = 32 << 20 // the server refuses a longer record
	headersMark = 1 << 31  // of the length: the record has a header
	erasedMark  = 1 << 63  // of the sequence: an erased or skipped message
	tombMark    = 1 << 62  // of the sequence: a tombstone
)

// head is the fixed part of a record, decoded.
type head struct {
	length     int // of the whole record, in bytes
	seq        uint64
	time       int64
	subject    int // length in bytes
	headers    bool
	erased     bool
	tombstone  bool
	suspicious string // why the head cannot be right, or ""
}

func readHead(b []byte) head {
	length, seq := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:])
	h := head{
		length:    int(length &^ headersMark),
		seq:       seq &^ (erasedMark | tombMark),
		time:      int64(binary.LittleEndian.Uint64(b[12:])),
		subject:   int(binary.LittleEndian.Uint16(b[20:])),
		headers:   length&headersMark != 0,
		tombstone: seq&tombMark != 0,
		erased:    seq&tombMark == 0 && (seq&erasedMark != 0 || seq == 0),
	}
	least := emptyLen + h.subject
	if h.headers {
		least += 4
	}
	switch plain := h.subject == 0 && !h.headers; {
	case h.length > maxRecord || h.length < least:
		h.suspicious = "the length is impossible"
	case h.tombstone && (!plain || h.length != emptyLen || seq&erasedMark != 0):
		h.suspicious = "a tombstone has contents"
	case h.erased && !plain:
		h.suspicious = "an erased message has a subject or a header"
	case !h.tombstone && !h.erased && h.subject == 0:
		h.suspicious = "a message has no subject"
	}
	return h
}

type digest struct {
	hash.Hash64
	sum [sumLen]byte
}

// newDigest returns the digest for a block: its key is the SHA-256 of the stream's name and the
// block's number.
func newDigest(stream string, block int) *digest { return keyed(stream + "-" + strconv.Itoa(block)) }

func keyed(name string) *digest {
	key := sha256.Sum256([]byte(name))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	return &digest{Hash64: h}
}

// matches reports whether the record b, whose head is h, has its checksum. The checksum covers
// neither the record's length nor the lengths of subject and header: a record is right only if
// fields finds its parts well-formed, too.
func (d *digest) matches(b []byte, h head) bool {
	d.Reset()
	rest := h.subject
	_, _ = d.Write(b[4:20])
	_, _ = d.Write(b[headLen : headLen+h.subject])
	if h.headers {
		rest += 4
	}
	end := h.length - sumLen
	_, _ = d.Write(b[headLen+rest : end])
	return bytes.Equal(d.Sum(d.sum[:0]), b[end:h.length])
}

var (
	headerStart = []byte("NATS/1.0\r\n")
	headerEnd   = []byte("\r\n\r\n")
)

// fields cuts the record b into its parts. It returns why they cannot be right, or "".
func fields(b []byte, h head, r *stored.Message) string {
	r.Seq, r.Time, r.Erased, r.Tombstone = h.seq, h.time, h.erased, h.tombstone
	previous := r.Subject
	r.Subject, r.Header = "", nil
	subject := b[headLen : headLen+h.subject]
	rest := b[headLen+h.subject : h.length-sumLen]
	r.Body = rest
	if !r.Stands() {
		return ""
	}
	if string(subject) == previous {
		r.Subject = previous // without a copy
	} else if !literal(subject) {
		return "the subject is malformed"
	}
	if h.headers {
		n := int64(binary.LittleEndian.Uint32(rest))
		rest = rest[4:]
		if n < int64(len(headerStart)) || n > int64(len(rest)) {
			return "the header's length is impossible"
		}
		r.Header, r.Body = rest[:n:n], rest[n:]
		// The first empty line ends the header, so that no other length fits.
		if !bytes.HasPrefix(r.Header, headerStart) || bytes.Index(r.Header, headerEnd) != int(n)-len(headerEnd) {
			return "the header is malformed"
		}
	}
	if r.Subject == "" {
		r.Subject = string(subject)
	}
	return ""
}

// literal reports whether the bytes are a subject that a message can have: no wildcard, no empty
// token.
func literal(subject []byte) bool {
	start := 0
	for i := 0; i <= len(subject); i++ {
		if i < len(subject) && subject[i] != '.' {
			if subject[i] <= ' ' || subject[i] == 0x7f {
				return false
			}
			continue
		}
		token := subject[start:i]
		if len(token) == 0 || len(token) == 1 && (token[0] == '*' || token[0] == '>') {
			return false
		}
		start = i + 1
	}
	return true
}
