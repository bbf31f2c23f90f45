package servicetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/command"
	"payledger/cmd/payledger/ledger"
	"payledger/cmd/payledger/options"
	"payledger/eventstore/commands/accounts"
)

// spied returns a command.OnlyCopy of a new file. sync is called with the content of the file
// whenever the file is synced.
func spied(t *testing.T, sync func(content string)) command.OnlyCopy {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return command.OnlyCopy{Out: f, Sync: func(f *os.File) error {
		content, err := os.ReadFile(f.Name())
		sync(string(content))
		return err
	}}
}

// TestNewKeyIsSynced: the new master key that a rotation prints is on the disk before the
// generation of the key begins, as text and as JSON.
func TestNewKeyIsSynced(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		o := options.Options{Data: t.TempDir(), Shards: 1, MasterKey: strings.Repeat("ab", 32)}
		l, err := ledger.Open(t.Context(), o, ledger.Create, ledger.Config{Logger: zerolog.Nop()})
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		var shown, synced string
		out := spied(t, func(content string) { synced, steps = content, append(steps, "synced") })
		r := ledger.Rotation{Options: o, Stepped: func(step string) { steps = append(steps, step) }, Show: func(key string) error {
			shown = key
			return out.Key(key, asJSON)
		}}
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		at, begun := slices.Index(steps, "synced"), slices.Index(steps, "the generation has begun")
		if at < 0 || begun < at || !strings.Contains(synced, shown) || len(shown) != 64 {
			t.Errorf("JSON %v: %q: synced %q", asJSON, steps, synced)
		}
	}
}

// TestMadeIsSynced: the master key of a new cluster is on the disk when it is printed.
func TestMadeIsSynced(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		synced := ""
		out := spied(t, func(content string) { synced = content })
		made := ledger.Made{Credentials: accounts.Credentials{APIKey: "the API key"}, MasterKey: "the master key"}
		if err := out.Made(made, asJSON); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(synced, "the API key") || !strings.Contains(synced, "the master key") {
			t.Errorf("JSON %v: synced %q", asJSON, synced)
		}
	}
}
