package engine_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForbiddenHeaders: no code sets the headers that would break the log: one mismatch of the
// expected last message id stops a replicated stream for good, and message ids are a window of two
// minutes, not idempotency.
func TestForbiddenHeaders(t *testing.T) {
	t.Parallel()
	forbidden := []string{"Nats-Expected-Last-Msg-Id", "ExpectedLastMsgIdHdr", "ExpectLastMsgId", "ExpectLastMsgID", "Nats-Msg-Id", "MsgIdHdr", "MsgIDHeader", "WithMsgID", ".MsgId("}
	files := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, word := range forbidden {
			if strings.Contains(string(text), word) {
				t.Errorf("%s: %s", path, word)
			}
		}
		return err
	})
	if err != nil || files < 20 {
		t.Fatal(err, files)
	}
}
