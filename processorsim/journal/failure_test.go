package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFailedWrite checks that nothing is accepted after a failed write, because the content of the
// file is unknown.
func TestFailedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _, err := Open(path, func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	file := j.file
	j.file = readOnly // the flusher sleeps until the first append, which happens after this
	for range 3 {
		if j.Append([]byte("line")).Wait() == nil {
			t.Error("an append that cannot be written succeeded")
		}
	}
	if j.Err() == nil {
		t.Error("the failure is not final")
	}
	if j.Close() == nil {
		t.Error("Close hides the failure")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
