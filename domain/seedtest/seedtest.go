package seedtest

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	// Variable is the name of the environment variable.
	Variable = "PAYLEDGER_TEST_SEED"
	clock    = "clock"
	fixed    = 1 // the seed without the variable
	// sample is the number of checks of a property without the build tag system. rapid's own number
	// is 100; with -short it takes a fifth.
	sample = 50
	// slowSample is that number in a package that calls Slow.
	slowSample = 20
)

// The default of rapid's flag is a seed from the clock, and 100 checks. The flags of the command
// line are parsed later, and replace this one.
func init() {
	seed, err := of(os.Getenv(Variable), 0)
	if err == nil {
		err = flag.Set("rapid.seed", strconv.FormatUint(seed, 10))
	}
	if err == nil && !whole {
		err = flag.Set("rapid.checks", strconv.Itoa(sample))
	}
	if err != nil {
		panic(Variable + ": " + err.Error())
	}
}

// Slow makes the number of checks smaller, from the TestMain of a package whose properties open
// files or logs, before flag.Parse. With the build tag system rapid's own number stays.
func Slow() {
	if whole {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(slowSample)); err != nil {
		panic(err)
	}
}

// of returns the seed that the variable's value means; now is the seed of the clock.
func of(value string, now uint64) (uint64, error) {
	switch value {
	case "":
		return fixed, nil
	case clock:
		return now, nil
	}
	return strconv.ParseUint(value, 10, 64)
}

// Seed returns the seed of a test, and logs the command that repeats it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := of(os.Getenv(Variable), uint64(time.Now().UnixNano()))
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	t.Logf("seed %d; again with %s, in this package", seed, command(seed, t.Name(), given()))
	return seed
}

// given returns the flags of the test binary that are not those of package testing, as the command
// line has them.
func given() (flags []string) {
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") && !strings.HasPrefix(f.Name, "rapid.") {
			flags = append(flags, "-"+f.Name+"="+quoted(f.Value.String()))
		}
	})
	return flags
}

// command returns the command that repeats a test.
func command(seed uint64, test string, flags []string) string {
	words := []string{fmt.Sprintf("%s=%d", Variable, seed), "go test"}
	if part != allParts {
		words = append([]string{fmt.Sprintf("%s=%d", PartVariable, part)}, words...)
	}
	if whole {
		words = append(words, "-tags system")
	}
	words = append(words, "-count=1", "-run", quoted("^"+test+"$"))
	return strings.Join(append(words, flags...), " ")
}

// quoted returns a word of a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plain = regexp.MustCompile(`^[\w./:=-]+$`)

// Check checks a property as rapid.Check does. A failure names the seed as a flag of rapid.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, property)
}

// Sampled reports whether a test takes a sample of its cases, or a smaller size. It does so without
// the build tag system, and with -short. The sample is the same in each run, and has every kind of
// case.
func Sampled() bool { return !whole || testing.Short() }
