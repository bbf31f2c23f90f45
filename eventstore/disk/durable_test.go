package disk_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"payledger/domain/childtest"
	"payledger/eventstore/disk"
)

// victim, set in the environment, is the file that this process begins to write before it kills
// itself.
const victim = "DISK_TEST_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victim); path != "" {
		err := disk.Fill(path, func(w io.Writer) error {
			_, err := io.WriteString(w, "a part of")
			self, findErr := os.FindProcess(os.Getpid())
			if err = errors.Join(err, findErr); err == nil {
				err = self.Kill()
			}
			if err == nil {
				select {} // the signal comes
			}
			return err
		})
		panic(err)
	}
	os.Exit(m.Run())
}

// TestDurableWrite: after a kill in the middle, and after each error, a file is as it was before.
// The next write replaces what they left.
func TestDurableWrite(t *testing.T) {
	t.Parallel()
	failure := errors.New("no more data")
	for name, fail := range map[string]func(t *testing.T, path string) error{
		"a kill": func(t *testing.T, path string) error {
			child := childtest.Tied(exec.Command(os.Args[0]))
			child.Env = append(os.Environ(), victim+"="+path)
			text, err := child.CombinedOutput()
			if strings.Contains(string(text), "panic") {
				t.Errorf("it was not killed: %s", text)
			}
			return err
		},
		"an error of the contents": func(_ *testing.T, path string) error {
			return disk.Fill(path, func(w io.Writer) error {
				_, err := io.WriteString(w, "a part of")
				return errors.Join(err, failure)
			})
		},
		"a sync that fails": func(t *testing.T, path string) error {
			if err := os.Symlink("/dev/null", path+disk.Unfinished); err != nil { // it takes every byte and refuses a sync
				t.Log("NOT RUN: no symbolic links: ", err)
				return err
			}
			defer os.Remove(path + disk.Unfinished)
			return disk.Write(path, []byte("not on the disk"))
		},
		"a name that cannot be taken": func(t *testing.T, path string) error {
			return disk.Write(filepath.Join(path, "below"), []byte("x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			for _, before := range []string{"", "the contents of before"} {
				if before != "" {
					if err := disk.Write(path, []byte(before)); err != nil {
						t.Fatal(err)
					}
				}
				if err := fail(t, path); err == nil {
					t.Error("no error")
				}
				b, err := os.ReadFile(path)
				if string(b) != before || (err != nil) != (before == "") {
					t.Errorf("%q, want %q: %v", b, before, err)
				}
			}
			if err := disk.Write(path, []byte("next")); err != nil {
				t.Error(err)
			}
			b, err := os.ReadFile(path)
			files, listErr := os.ReadDir(filepath.Dir(path))
			if err != nil || listErr != nil || string(b) != "next" || len(files) != 1 {
				t.Errorf("%q in %v: %v, %v", b, files, err, listErr)
			}
		})
	}
}
