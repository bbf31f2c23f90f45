package blocks

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkVerify reads a stream of 64 MB from the operating system's cache.
func BenchmarkVerify(b *testing.B) {
	for _, body := range []int{200, 2300, 64 << 10} {
		for _, deletes := range []bool{false, true} {
			b.Run(fmt.Sprintf("body %d, deletes %t", body, deletes), func(b *testing.B) {
				dir := b.TempDir()
				total := build(b, dir, body, 8, 8<<20)
				b.SetBytes(total)
				b.ReportAllocs()
				for b.Loop() {
					report, err := Verify(dir, "A", "BENCH", Options{Deletes: deletes, Subject: "bench"})
					if err != nil || report.Kind != Clean {
						b.Fatal(report, err)
					}
				}
			})
		}
	}
}

// build writes a stream and returns its size.
func build(b *testing.B, dir string, body, blocks, size int) (total int64) {
	folder := Folder(dir, "A", "BENCH")
	write := func(name string, text []byte) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	meta, d := []byte(`{"name":"BENCH"}`), keyed("BENCH")
	_, _ = d.Write(meta)
	write("meta.inf", meta)
	write("meta.sum", []byte(hex.EncodeToString(d.Sum(nil))))
	seq := uint64(0)
	for block := range blocks {
		var text []byte
		for d := newDigest("BENCH", block+1); len(text)+body < size; {
			seq++
			text = append(text, encode(d, seq, 1, "bench", "NATS/1.0\r\n\r\n", string(make([]byte, body)))...)
		}
		write(fmt.Sprintf("msgs/%d.blk", block+1), text)
		total += int64(len(text))
	}
	return total
}
