package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"payledger/domain/exactjson"
	"payledger/eventstore/disk"
	"payledger/eventstore/stored"
)

const (
	fileMagic = "payledger backup 1\n"
	// recordHead is the size of a record before its subject, in bytes.
	recordHead = 4 + 8 + 2 + 4
	// maxHeader and maxRecord bound the memory that a damaged length can allocate, in bytes.
	maxHeader = 16 << 20
	maxRecord = 64 << 20
	// footerMark stands in place of a record's length.
	footerMark = 1<<32 - 1
	footerSize = 4 + 8 + sha256.Size + 4
	fileBuffer = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged means that a file of a back-up is missing, incomplete, changed, or another one.
var ErrDamaged = errors.New("the back-up is damaged")

// Header is the beginning of a file, and describes the rest.
type Header struct {
	Number uint64 `json:"number"` // of the run that wrote the file
	Log    string `json:"log"`    // id of the log
	Stream string `json:"stream"` // a segment of the log, or SECRETS
	First  uint64 `json:"first"`  // the lowest sequence that the file can hold
	// Configs are the configurations of the streams, by name, as the server keeps them.
	Configs map[string]json.RawMessage `json:"configs"`
}

// writer writes one file under a temporary name.
type writer struct {
	path  string // without the ending of the temporary name
	f     *os.File
	out   *bufio.Writer
	sum   hash.Hash
	bytes int64
	count uint64
	first uint64 // sequence of the first message; 0 without a message
	last  uint64
	head  []byte
}

const temporary = disk.Unfinished

func newWriter(path string, h Header) (*writer, error) {
	f, err := os.OpenFile(path+temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, writeError(err)
	}
	w := &writer{path: path, f: f, sum: sha256.New()}
	w.out = bufio.NewWriterSize(f, fileBuffer)
	text, err := json.Marshal(h)
	if err == nil {
		head := binary.BigEndian.AppendUint32([]byte(fileMagic), uint32(len(text)))
		head = append(head, text...)
		err = w.write(binary.BigEndian.AppendUint32(head, crc32.Checksum(head, castagnoli)))
	}
	if err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	return w, nil
}

func (w *writer) write(parts ...[]byte) error {
	for _, b := range parts {
		_, _ = w.sum.Write(b)
		w.bytes += int64(len(b))
		if _, err := w.out.Write(b); err != nil {
			return writeError(err)
		}
	}
	return nil
}

func (w *writer) add(m stored.Message) error {
	length := recordHead + len(m.Subject) + len(m.Header) + len(m.Body) + crc32.Size
	if length > maxRecord || len(m.Subject) > 1<<16-1 {
		return fmt.Errorf("backup: the message at sequence %d has %d bytes; %d are the limit", m.Seq, length, maxRecord)
	}
	b := binary.BigEndian.AppendUint32(w.head[:0], uint32(length))
	b = binary.BigEndian.AppendUint64(b, m.Seq)
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.Subject)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Header)))
	b = append(b, m.Subject...)
	w.head = b
	sum := crc32.Update(crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, m.Header), castagnoli, m.Body)
	if w.count++; w.first == 0 {
		w.first = m.Seq
	}
	w.last = m.Seq
	return w.write(b, m.Header, m.Body, binary.BigEndian.AppendUint32(nil, sum))
}

func (w *writer) finish() (File, error) {
	digest := w.sum.Sum(nil)
	foot := binary.BigEndian.AppendUint32(nil, footerMark)
	foot = append(binary.BigEndian.AppendUint64(foot, w.count), digest...)
	err := w.write(binary.BigEndian.AppendUint32(foot, crc32.Checksum(foot, castagnoli)))
	if err == nil {
		err = writeError(w.out.Flush())
	}
	if err == nil {
		err = writeError(w.f.Sync())
	}
	if err = errors.Join(err, writeError(w.f.Close())); err == nil {
		err = writeError(disk.Rename(w.path+temporary, w.path))
	}
	return File{
		Name: filepath.Base(w.path), First: w.first, Last: w.last, Messages: w.count, Bytes: w.bytes, SHA256: hex.EncodeToString(digest),
	}, err
}

func (w *writer) abandon() error {
	return errors.Join(w.f.Close(), os.Remove(w.path+temporary))
}

// reader reads one file and checks every byte.
type reader struct {
	path   string
	in     *bufio.Reader
	sum    hash.Hash
	offset int64
	last   uint64
	count  uint64
	buffer []byte
}

// Read calls each with the messages of a file in their order, and returns the description of the
// file. A message is valid only during the call. ErrDamaged names the file and the place.
func Read(path string, begin func(Header) error, each func(stored.Message) error) (File, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return File{}, fmt.Errorf("%w: %s is missing", ErrDamaged, path)
	}
	if err != nil {
		return File{}, fmt.Errorf("backup: %w", err)
	}
	defer f.Close() // it was only read
	r := &reader{path: path, in: bufio.NewReaderSize(f, fileBuffer), sum: sha256.New()}
	h, err := r.header()
	if err == nil && begin != nil {
		err = begin(h)
	}
	if err != nil {
		return File{}, err
	}
	return r.messages(File{Name: filepath.Base(path), Stream: h.Stream}, each)
}

func (r *reader) damaged(reason string) error {
	place := fmt.Sprintf("at byte %d", r.offset)
	if r.last > 0 {
		place += fmt.Sprintf(", after sequence %d", r.last)
	}
	return fmt.Errorf("%w: %s %s: %s", ErrDamaged, r.path, place, reason)
}

// take reads n bytes after those that the buffer holds.
func (r *reader) take(n int) error {
	for n > 0 { // a wrong length allocates no more than the file holds
		part := min(n, fileBuffer)
		r.buffer = append(r.buffer, make([]byte, part)...)
		_, err := io.ReadFull(r.in, r.buffer[len(r.buffer)-part:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return r.damaged("the file ends too early")
		}
		if err != nil {
			return fmt.Errorf("backup: %w", err)
		}
		n -= part
	}
	return nil
}

// passed notes that the bytes of the buffer are right.
func (r *reader) passed() {
	_, _ = r.sum.Write(r.buffer)
	r.offset += int64(len(r.buffer))
	r.buffer = r.buffer[:0]
}

// checked reports whether the buffer ends with the checksum of its other bytes.
func (r *reader) checked() bool {
	end := len(r.buffer) - crc32.Size
	return binary.BigEndian.Uint32(r.buffer[end:]) == crc32.Checksum(r.buffer[:end], castagnoli)
}

func (r *reader) header() (h Header, err error) {
	if err := r.take(len(fileMagic) + 4); err != nil {
		return h, err
	}
	if !bytes.HasPrefix(r.buffer, []byte(fileMagic)) {
		return h, r.damaged("it is no file of a back-up that this version reads")
	}
	start := len(r.buffer)
	length := binary.BigEndian.Uint32(r.buffer[start-4:])
	if length > maxHeader {
		return h, r.damaged("the header is damaged")
	}
	if err := r.take(int(length) + crc32.Size); err != nil {
		return h, err
	}
	if !r.checked() {
		return h, r.damaged("the header is damaged")
	}
	if err := exactjson.Unmarshal(r.buffer[start:start+int(length)], &h); err != nil {
		return h, r.damaged("the header is damaged")
	}
	r.passed()
	return h, nil
}

func (r *reader) messages(file File, each func(stored.Message) error) (File, error) {
	for {
		if err := r.take(4); err != nil {
			return file, err
		}
		length := binary.BigEndian.Uint32(r.buffer)
		if length == footerMark {
			return r.footer(file)
		}
		if length < recordHead+crc32.Size || length > maxRecord {
			return file, r.damaged("the record is damaged")
		}
		if err := r.take(int(length) - 4); err != nil {
			return file, err
		}
		m, ok := r.message()
		if !ok || !r.checked() {
			return file, r.damaged("the record is damaged")
		}
		if r.count++; r.count == 1 {
			file.First = m.Seq
		}
		if each != nil {
			if err := each(m); err != nil {
				return file, err
			}
		}
		r.last = m.Seq
		r.passed()
	}
}

func (r *reader) message() (m stored.Message, ok bool) {
	b := r.buffer[:len(r.buffer)-crc32.Size]
	m.Seq = binary.BigEndian.Uint64(b[4:])
	subject, header := int(binary.BigEndian.Uint16(b[12:])), int(binary.BigEndian.Uint32(b[14:]))
	if rest := len(b) - recordHead - subject; rest < 0 || header > rest {
		return m, false
	}
	b = b[recordHead:]
	m.Subject, m.Body = string(b[:subject]), b[subject+header:]
	if header > 0 {
		m.Header = b[subject : subject+header]
	}
	return m, m.Seq > r.last
}

func (r *reader) footer(file File) (File, error) {
	if err := r.take(footerSize - 4); err != nil {
		return file, err
	}
	digest := r.sum.Sum(nil)
	if !r.checked() || binary.BigEndian.Uint64(r.buffer[4:]) != r.count || !bytes.Equal(r.buffer[12:12+sha256.Size], digest) {
		return file, r.damaged("the end of the file is damaged")
	}
	r.passed()
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return file, r.damaged("there are bytes behind the end of the file")
	}
	file.Last, file.Messages, file.Bytes, file.SHA256 = r.last, r.count, r.offset, hex.EncodeToString(digest)
	return file, nil
}
