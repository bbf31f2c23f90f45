package seedtest

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSeed: without the variable a seed is the same in each run, also rapid's; a number is the
// seed; "clock" takes another one each time.
func TestSeed(t *testing.T) {
	t.Setenv(Variable, "")
	if a, b := Seed(t), Seed(t); a != fixed || b != fixed {
		t.Errorf("seeds %d and %d", a, b)
	}
	t.Setenv(Variable, "18446744073709551615")
	if a := Seed(t); a != 1<<64-1 {
		t.Errorf("seed %d", a)
	}
	for value, want := range map[string]uint64{"": fixed, clock: 77, "5": 5} {
		if seed, err := of(value, 77); seed != want || err != nil {
			t.Errorf("%q: seed %d, %v", value, seed, err)
		}
	}
	if _, err := of("now", 77); err == nil {
		t.Error("a word is taken for a seed")
	}
}

// TestCheckRepeats: two checks of a property draw the same values, with the seed of rapid's flag.
func TestCheckRepeats(t *testing.T) {
	given := flag.Lookup("rapid.seed").Value.String()
	t.Cleanup(func() { _ = flag.Set("rapid.seed", given) })
	if err := flag.Set("rapid.seed", "7"); err != nil {
		t.Fatal(err)
	}
	var runs [2][]int
	for i := range runs {
		Check(t, func(t *rapid.T) { runs[i] = append(runs[i], rapid.Int().Draw(t, "value")) })
	}
	if len(runs[0]) < 10 || len(runs[0]) != len(runs[1]) {
		t.Fatalf("%d and %d runs", len(runs[0]), len(runs[1]))
	}
	for i := range runs[0] {
		if runs[0][i] != runs[1][i] {
			t.Fatalf("run %d draws %d, then %d", i, runs[0][i], runs[1][i])
		}
	}
}

// TestCommand: the command that repeats a test has the seed, the tag of the build and the flags
// that were given.
func TestCommand(t *testing.T) {
	want := `PAYLEDGER_TEST_SEED=7 go test -count=1 -run '^TestX/it'\''s$' -rounds=3 -file='a b'`
	if part != allParts {
		want = fmt.Sprintf("%s=%d %s", PartVariable, part, want)
	}
	if whole {
		want = strings.Replace(want, "test", "test -tags system", 1)
	}
	if got := command(7, "TestX/it's", []string{"-rounds=" + quoted("3"), "-file=" + quoted("a b")}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if flags := given(); len(flags) > 0 {
		t.Errorf("this test was given %q", flags)
	}
}

// TestTurn: without a number all cases are in a run; with one, each case is in one of as many
// successive runs as there are turns.
func TestTurn(t *testing.T) {
	for i := range 7 {
		if !inPart(allParts, i, 3) {
			t.Errorf("case %d is left out of a whole run", i)
		}
		runs := 0
		for part := range 3 {
			if inPart(part+30, i, 3) {
				runs++
			}
		}
		if runs != 1 {
			t.Errorf("case %d is in %d of 3 runs", i, runs)
		}
	}
	if n, share := shareOf(allParts, 25, 3); n != 25 || share != 0 {
		t.Errorf("a whole run has %d rounds of share %d", n, share)
	}
	if n, share := shareOf(5, 25, 3); n != 9 || share != 2 {
		t.Errorf("part 5 has %d rounds of share %d", n, share)
	}
	for value, want := range map[string]int{"": allParts, "0": 0, "17": 17} {
		if n, err := partOf(value); n != want || err != nil {
			t.Errorf("%q is part %d, %v", value, n, err)
		}
	}
	for _, wrong := range []string{"-1", "first", "99999999999"} {
		if _, err := partOf(wrong); err == nil {
			t.Errorf("the part %q is taken", wrong)
		}
	}
}
