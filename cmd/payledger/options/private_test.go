package options_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/options"
)

// TestOpenFolder: a data folder that others may change, and a master key that others may read, are
// refused in production, and a warning in the sandbox.
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
		{0o770 | os.ModeSetgid, 0o660, nil}, // Kubernetes opens every file of a volume to its fsGroup
		{0o770 | os.ModeSetgid, 0o644, []string{"master key"}},
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

// TestForeignFolder: a data folder of another user, or one that is reached through another user's
// link, is refused, whatever the modes are: its owner may change it, and may lead the link
// elsewhere. Folders and links of root and of the service's user are accepted, as PostgreSQL and
// ssh accept them.
func TestForeignFolder(t *testing.T) {
	t.Parallel()
	above, owner := t.TempDir(), os.Geteuid()
	folder, link, chain := filepath.Join(above, "folder"), filepath.Join(above, "link"), filepath.Join(above, "chain")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Symlink("folder", link), os.Symlink(above, chain), os.Chmod(above, 0o755)); err != nil {
		t.Fatal(err)
	}
	if owner == 0 { // the folders and links of root are accepted
		if got := options.FolderFaultsOf(filepath.Join(chain, "link"), 1); len(got) > 0 {
			t.Errorf("for another user than root: %q", got)
		}
		owner = 1
		if err := errors.Join(os.Chown(folder, owner, owner), os.Lchown(link, owner, owner), os.Lchown(chain, owner, owner)); err != nil {
			t.Fatal(err)
		}
	}
	for data, says := range map[string][]string{
		folder:                         {"data folder " + folder + " belongs to the user"},
		link:                           {"data folder " + link + " belongs to the user", "link " + link},
		filepath.Join(chain, "folder"): {"belongs to the user", "link " + chain},
		filepath.Join(chain, "link"):   {"belongs to the user", "link " + chain},
		filepath.Join(chain, "new"):    {"link " + chain}, // the service would make it
		filepath.Join(above, "new"):    nil,
	} {
		if got := options.FolderFaultsOf(data, owner); len(got) > 0 {
			t.Errorf("%s, for its owner: %q", data, got)
		}
		got := options.FolderFaultsOf(data, owner+1)
		if len(got) != len(says) {
			t.Errorf("%s: %q", data, got)
			continue
		}
		for i, text := range says {
			if !strings.Contains(got[i], text) {
				t.Errorf("%s: %q, expected %q", data, got[i], text)
			}
		}
	}
}

// TestVolume: a data folder of the service's own is accepted in a volume whose root is open to all
// users, as in the image; other users' folders are refused. The advice about the volume's root
// itself is one that a container can follow.
func TestVolume(t *testing.T) {
	t.Parallel()
	faults := func(data string) string {
		return strings.Join(options.Options{Data: data, Environment: "production", MasterKey: strings.Repeat("0", 64)}.Faults(), "; ")
	}
	volume := t.TempDir()
	own, foreign := filepath.Join(volume, "ledger"), filepath.Join(volume, "foreign")
	for _, err := range []error{os.Mkdir(own, 0o700), os.Mkdir(foreign, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root := os.Geteuid() == 0 // only root can give folders away
	if root {
		for _, err := range []error{os.Chown(volume, 1, 1), os.Chown(foreign, 1, 1)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSetgid, 0o777 | os.ModeSticky, 0o755} { // emptyDir and local-path, with fsGroup, a tmpfs, a named volume
		if err := os.Chmod(volume, mode); err != nil {
			t.Fatal(err)
		}
		if got := faults(own); strings.Contains(got, "data folder") {
			t.Errorf("in a volume of %s: %s", mode, got)
		}
		if got := faults(filepath.Join(volume, "new")); strings.Contains(got, "data folder") {
			t.Errorf("a new folder in a volume of %s: %s", mode, got)
		}
		if got := faults(volume); strings.Contains(got, "data folder") != (mode.Perm() == 0o777 || root) {
			t.Errorf("a volume of %s itself, which belongs to another user for root: %s", mode, got)
		}
		if got := faults(foreign); root && !strings.Contains(got, "belongs to the user 1") {
			t.Errorf("another user's folder in a volume of %s: %s", mode, got)
		}
	}
}

// TestVolumeAdvice: the text about another user's folder names a folder that the service can make,
// and the way there for a ledger.
func TestVolumeAdvice(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	owner := os.Geteuid()
	if got := options.PrivateAdvice(data, info, owner+1); !strings.Contains(got, "`--data "+data+"/ledger`") || strings.Contains(got, "chmod") || strings.Contains(got, "restore") {
		t.Errorf("without a ledger: %s", got)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(data, "events"), 0o700), os.WriteFile(filepath.Join(data, "events", "LOCK"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := options.PrivateAdvice(data, info, owner+1); !strings.Contains(got, "payledger restore --data "+data+"/ledger") {
		t.Errorf("with a ledger: %s", got)
	}
	if got := options.PrivateAdvice(data, info, owner); got != "`chmod 700 "+data+"`" {
		t.Errorf("of its own user: %s", got)
	}
	beside := options.Options{Data: filepath.Join(data, "ledger"), Environment: "sandbox"}
	if got := strings.Join(beside.Faults(), "; "); !strings.Contains(got, data+" above it holds one") {
		t.Errorf("an empty ledger is made beside another: %s", got)
	}
	if err := os.Mkdir(beside.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	deep := options.Options{Data: filepath.Join(beside.Data, "further", "ledger"), Environment: "sandbox"}
	for _, o := range []options.Options{beside, deep} { // an orchestrator, or a start that failed, made the folder
		if got := strings.Join(o.Faults(), "; "); !strings.Contains(got, data+" above it holds one") {
			t.Errorf("an empty folder %s: %s", o.Data, got)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(beside.Data, "events"), 0o700), os.WriteFile(filepath.Join(beside.Data, "events", "LOCK"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(beside.Faults(), "; "); strings.Contains(got, "above it holds") {
		t.Errorf("a ledger that was restored there: %s", got)
	}
}

// TestFilesAreReadOnce: a secret may come through a pipe, which is empty when it is read again.
func TestFilesAreReadOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	once := options.Options{ProcessorSecrets: options.ProcessorSecrets{ProcessorSecretFile: file}}.WithFiles()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if twice := once.WithFiles(); !slices.Equal(twice.ProcessorSecret, []string{"s"}) || len(twice.WrittenFaults()) > 0 {
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
