package servicetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/highwayhash"
	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	"payledger/cmd/payledger/ledger"
	"payledger/eventstore/engine"
	"payledger/eventstore/eventstoretest"
	"payledger/eventstore/streams"
)

// TestStartOnMalformedGroup: a start that reads a malformed group, with the server's valid
// checksum, ends with an error that names the place and what to do.
func TestStartOnMalformedGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	service, stop := apptest.StartToStop(t, apptest.TestOptions(dir))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	log, err := ledger.Open(t.Context(), apptest.TestOptions(dir), ledger.Existing, engine.Config{SegmentBytes: 1}) // a start reads old segments only for the views
	if err == nil {
		_, err = eventstoretest.Generate(t.Context(), log.Store, service.Credentials.AccountID, 3, 1)
	}
	if err == nil {
		err = log.Close()
	}
	if err == nil {
		err = os.RemoveAll(filepath.Join(dir, "views"))
	}
	if err != nil {
		t.Fatal(err)
	}
	stream := malform(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again, err := app.Start(ctx, apptest.TestOptions(dir), zerolog.Nop())
	if err == nil {
		t.Fatal("the service starts", again.Stop())
	}
	for _, want := range []string{stream + " at sequence 1:", "payledger verify", "payledger restore", "copy the folder"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

// malform makes the first group of a closed segment unreadable, with a right checksum of the
// server's record. It returns the segment's stream. A start looks at the files of an open segment
// before it reads, so it would find the fault in another way.
func malform(t *testing.T, dir string) (stream string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "jetstream", "*", "streams", "LEDGER_*", "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil || len(data) < 30 {
			continue
		}
		stream = filepath.Base(filepath.Dir(filepath.Dir(path)))
		shard, number, is := streams.Parse(stream)
		next := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(path))), streams.Name(shard, number+1))
		if _, err := os.Stat(next); err != nil || !is {
			continue
		}
		length := int(binary.LittleEndian.Uint32(data) &^ (1 << 31))
		if binary.LittleEndian.Uint64(data[4:]) != 1 || len(data) < length {
			continue
		}
		subject := int(binary.LittleEndian.Uint16(data[20:]))
		body := 22 + subject
		if data[3]&0x80 != 0 { // with a header
			body += 4
			data[body+int(binary.LittleEndian.Uint32(data[body-4:]))] ^= 0x55
		} else {
			data[body] ^= 0x55
		}
		key := sha256.Sum256([]byte(stream + "-" + strings.TrimSuffix(filepath.Base(path), ".blk")))
		sum, err := highwayhash.New64(key[:])
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range [][]byte{data[4:20], data[22 : 22+subject], data[body : length-8]} {
			_, _ = sum.Write(part)
		}
		copy(data[length-8:], sum.Sum(nil))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return stream
	}
	t.Fatalf("no segment of %v is closed", files)
	return ""
}
