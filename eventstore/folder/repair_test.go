package folder

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"payledger/eventstore/blocks"
	"payledger/eventstore/disk"
)

// TestTailIsKeptWhole: a copy of a torn tail that a kill or a full disk cut short is made again,
// and a whole one is left alone.
func TestTailIsKeptWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	block, kept := filepath.Join(dir, "1.blk"), filepath.Join(dir, tails, "LEDGER_0_1-1-4.blk")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := Found{Stream: "LEDGER_0_1", Torn: &Tail{blocks.Result{Path: block, Block: 1, End: 4}}}
	keep := func(want string) {
		t.Helper()
		if err := found.keepTail(dir); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(kept)
		if files, listErr := os.ReadDir(filepath.Dir(kept)); err != nil || listErr != nil || len(files) != 1 || string(b) != want {
			t.Errorf("%q of %v: %v, %v", b, files, err, listErr)
		}
	}
	write(block, "a whole block")
	if err := os.Mkdir(filepath.Dir(kept), 0o700); err != nil {
		t.Fatal(err)
	}
	write(kept+disk.Unfinished, "a longer copy than that of the block")
	keep("a whole block")
	write(block, "cut")
	keep("a whole block")
}

// TestNames: the file has the name of this version of the server. The package does not import the
// server, so that readers of a folder do not link it.
func TestNames(t *testing.T) {
	if description != server.JetStreamMetaFile {
		t.Errorf("%s is %s at the server", description, server.JetStreamMetaFile)
	}
}
