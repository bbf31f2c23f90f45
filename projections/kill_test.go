package projections

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"payledger/domain/childtest"
	"payledger/domain/processor"
	"payledger/domain/seedtest"
)

// childFolder, when set, makes the test binary the process that is killed.
const childFolder = "PAYLEDGER_TEST_CHILD"

// ahead is how many batches the child may be ahead of the progress that its killer has read.
const ahead = 8

// longStory is the same log in parent and child.
func longStory() *logbook {
	l := newLogbook(4)
	for n := range 1500 {
		s := l.create(n)
		if n%3 == 0 {
			s = l.answer(s, processor.Answer{State: processor.Pending})
		}
		l.answer(s, approved())
	}
	return l
}

// applyUntilKilled applies the log in small batches and says after each commit how far it is.
func applyUntilKilled(dir string) {
	l := longStory()
	m, err := openModel(context.Background(), filepath.Join(dir, FileName), nil, 4, zerolog.Nop())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var done uint64
	for _, at := range m.places {
		done += at.number
	}
	for at := int(done); at < len(l.all); at += 7 {
		if err := m.apply(context.Background(), l.all[:min(at+7, len(l.all))]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("applied", at)
		if at >= int(done)+7*ahead { // else the killer may look away until all is done
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
	}
	if err := m.Close(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// TestKill checks that a process that is killed repeatedly while it writes leaves the same rows as
// a process that is not killed.
func TestKill(t *testing.T) {
	t.Parallel()
	l := longStory()
	reference := openTestModel(t, filepath.Join(t.TempDir(), FileName), 4)
	defer mustClose(t, reference)
	mustApply(t, reference, l.all)

	dir := t.TempDir()
	rounds := []int{0, 1, 2, 3, 4, 5}
	if seedtest.Sampled() {
		rounds = []int{0, 2, 5}
	}
	for _, round := range rounds {
		child := childtest.Tied(exec.Command(os.Args[0]))
		child.Env = append(os.Environ(), childFolder+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		seen, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 13 + 17*round {
			if !lines.Scan() {
				t.Fatalf("round %d: the child ended early", round)
			}
			if _, err := seen.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // killed
		m := openTestModel(t, filepath.Join(dir, FileName), 4)
		if slices.Max(m.positions()) == 0 {
			t.Errorf("round %d: nothing is left", round)
		}
		mustClose(t, m)
	}
	m := openTestModel(t, filepath.Join(dir, FileName), 4)
	defer mustClose(t, m)
	mustApply(t, m, l.all)
	if !slices.Equal(dump(t, m), dump(t, reference)) {
		t.Error("the rows differ from those of a process that was not killed")
	}
}
