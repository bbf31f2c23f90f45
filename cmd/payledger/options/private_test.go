package options_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/options"
)

// TestOpenFolder: a data folder that others may change, and a master key that others may read, are refused in production, and a warning in
// the sandbox.
func TestOpenFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		folder, key os.FileMode
		says        []string
	}{
		{0o700, 0o600, nil},
		{0o755, 0o600, nil},
		{0o777, 0o600, []string{"data folder"}},
		{0o770, 0o600, []string{"data folder"}},
		{0o770 | os.ModeSetgid, 0o600, nil},
		{0o777 | os.ModeSetgid, 0o600, []string{"data folder"}},
		{0o700, 0o644, []string{"master key"}},
		{0o700, 0o640, []string{"master key"}},
		{0o777, 0o644, []string{"data folder", "master key", "chmod 700", "chmod 600"}},
	} {
		o := options.Options{Data: t.TempDir(), Environment: "production", MasterKey: strings.Repeat("0", 64)}
		key := filepath.Join(o.Data, "master.key")
		for _, err := range []error{os.WriteFile(key, nil, 0o600), os.Chmod(key, c.key), os.Chmod(o.Data, c.folder)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		refused := strings.Join(o.Faults(), "; ")
		o.Environment = "sandbox"
		warned, inSandbox := strings.Join(o.Warnings(), "; "), strings.Join(o.Faults(), "; ")
		for _, text := range []string{"data folder", "master key /", "chmod 700", "chmod 600"} {
			want := false
			for _, says := range c.says {
				want = want || strings.HasPrefix(text, says)
			}
			if got := strings.Contains(refused, text); got != want && strings.HasPrefix(text, "data") || strings.Contains(warned, text) != strings.Contains(refused, text) ||
				strings.HasPrefix(text, "master") && got != want || strings.Contains(inSandbox, text) {
				t.Errorf("folder %o, key %o: refused with %q, warned with %q", c.folder, c.key, refused, warned)
			}
		}
	}
}

// TestFilesAreReadOnce: a secret may come through a pipe, which is empty when it is read again.
func TestFilesAreReadOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	once := options.Options{ProcessorSecretFile: file}.WithFiles()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if twice := once.WithFiles(); twice.ProcessorSecret != "s" || len(twice.WrittenFaults()) > 0 {
		t.Errorf("the secret is %q, the faults %v", twice.ProcessorSecret, twice.WrittenFaults())
	}
}

// TestEmptyVariables: an empty variable of the program counts as not set.
func TestEmptyVariables(t *testing.T) {
	t.Setenv("PAYLEDGER_LISTEN", "")
	t.Setenv("PAYLEDGER_DATA", "elsewhere")
	t.Setenv("ANOTHER", "")
	options.DropEmptyVariables()
	for name, want := range map[string]bool{"PAYLEDGER_LISTEN": false, "PAYLEDGER_DATA": true, "ANOTHER": true} {
		if _, is := os.LookupEnv(name); is != want {
			t.Errorf("%s is set: %t", name, is)
		}
	}
}
