package folder_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/blocks"
	"payledger/eventstore/folder"
)

// sequence is the place of a record's sequence.
const sequence = 4

// record is a record without a checksum. The guard does not compare checksums.
func record(seq uint64) []byte {
	const subject = "a"
	b := binary.LittleEndian.AppendUint32(nil, uint32(22+len(subject)+8))
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(subject)))
	return append(append(b, subject...), make([]byte, 8)...)
}

// TestGuard: a read is refused if a length or a sequence is wrong in a block that the server would
// read for it. Another look comes after ten seconds.
func TestGuard(t *testing.T) {
	t.Parallel()
	const account, stream = "A", "S"
	dir := t.TempDir()
	msgs := filepath.Join(blocks.Folder(dir, account, stream), "msgs")
	if err := os.MkdirAll(msgs, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(n int, data []byte) {
		if err := os.WriteFile(filepath.Join(msgs, fmt.Sprintf("%d.blk", n)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	block := func(first, last uint64) (data []byte) {
		for seq := first; seq <= last; seq++ {
			data = append(data, record(seq)...)
		}
		return data
	}
	changed := func(data []byte, place int) []byte {
		data[place] ^= 0x20
		return data
	}
	second := len(record(0)) // the place of a block's second record
	now := time.Now()
	guard := folder.NewGuard(dir, account, func() time.Time { return now })
	check := func(from, through uint64, want string) {
		t.Helper()
		if got := guard.Check(stream, from, through); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d to %d: %q, want %q", from, through, got, want)
		}
	}
	check(1, 1, "") // no block

	now = now.Add(time.Minute)
	write(1, block(1, 3))
	write(2, changed(block(4, 6), second+sequence+6))
	check(1, 3, "")
	check(4, 4, "2.blk")
	check(6, 9, "2.blk")
	check(2, 4, "2.blk")
	for place := sequence; place < sequence+8; place++ {
		write(2, changed(block(4, 6), second+place))
		check(5, 5, "2.blk")
	}
	write(2, append(block(4, 6), record(7)[:25]...)) // it is being written
	check(2, 6, "")
	write(2, changed(block(4, 7), second+sequence+6))
	check(7, 7, "")
	now = now.Add(10 * time.Second)
	check(7, 7, "2.blk")
	check(3, 3, "")

	write(2, changed(block(4, 6), sequence+6)) // no server would look for message 5 there
	write(3, block(7, 9))
	now = now.Add(10 * time.Second)
	check(5, 5, "3.blk begins with sequence 7")
	write(2, changed(block(4, 6), second+3))
	check(5, 5, "the length is impossible")
	check(8, 8, "")
	if err := os.RemoveAll(msgs); err != nil {
		t.Fatal(err)
	}
	now = now.Add(10 * time.Second)
	check(5, 5, "")
}
