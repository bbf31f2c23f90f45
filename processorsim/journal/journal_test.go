package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"payledger/processorsim/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens path and returns its lines.
func open(t *testing.T, path string) (*journal.Journal, []string, int) {
	t.Helper()
	var lines []string
	j, cut, err := journal.Open(path, func(line []byte) error { lines = append(lines, string(line)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return j, lines, cut
}

// TestConcurrentAppends: every line is in the file, once, when its commit is done.
func TestConcurrentAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _, _ := open(t, path)
	var group sync.WaitGroup
	for writer := range 32 {
		group.Go(func() {
			for n := range 50 {
				line := fmt.Sprintf("%d/%d", writer, n)
				if err := j.Append([]byte(line)).Wait(); err != nil {
					t.Error(err)
				}
				if n%25 == 0 {
					file, err := os.ReadFile(path)
					if err != nil || !strings.Contains("\n"+string(file), "\n"+line+"\n") {
						t.Errorf("%s is not in the file", line)
					}
				}
			}
		})
	}
	group.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, lines, _ := open(t, path)
	defer j.Close()
	slices.Sort(lines)
	if len(lines) != 32*50 || len(slices.Compact(lines)) != 32*50 {
		t.Errorf("%d lines", len(lines))
	}
}

// TestOrder checks that lines are in the order of their appends, and that Close flushes lines that
// no caller waited for.
func TestOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _, _ := open(t, path)
	var want []string
	for n := range 1000 {
		want = append(want, fmt.Sprint(n))
		j.Append([]byte(want[n]))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append([]byte("late")).Wait(); !errors.Is(err, journal.ErrClosed) {
		t.Error(err)
	}
	j, lines, _ := open(t, path)
	defer j.Close()
	if !slices.Equal(lines, want) {
		t.Errorf("%d lines, want %d in order", len(lines), len(want))
	}
}

// TestTorn checks that a last line without its newline is cut off, whatever its length, and that
// the next append follows.
func TestTorn(t *testing.T) {
	for torn := range len("third") + 1 {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, []byte("first\nsecond\n"+"third"[:torn]), 0o600); err != nil {
			t.Fatal(err)
		}
		j, lines, cut := open(t, path)
		if cut != torn || !slices.Equal(lines, []string{"first", "second"}) {
			t.Errorf("cut %d, lines %q", cut, lines)
		}
		if err := errors.Join(j.Append([]byte("next")).Wait(), j.Close()); err != nil {
			t.Fatal(err)
		}
		if file, err := os.ReadFile(path); err != nil || string(file) != "first\nsecond\nnext\n" {
			t.Errorf("%q %v", file, err)
		}
	}
}

func TestRefusedLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	if err := os.WriteFile(path, []byte("first\nsecond\nthird"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := errors.New("no such thing")
	_, _, err := journal.Open(path, func(line []byte) error {
		if string(line) == "second" {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) || !strings.Contains(err.Error(), "line 2 (byte 6)") {
		t.Error(err)
	}
	if file, _ := os.ReadFile(path); string(file) != "first\nsecond\nthird" {
		t.Errorf("a refused file was changed: %q", file)
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _, _ := open(t, path)
	if _, _, err := journal.Open(path, func([]byte) error { return nil }); err == nil {
		t.Error("opened twice")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, _, _ = open(t, path)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
