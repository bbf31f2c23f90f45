package seedtest

import (
	"fmt"
	"os"
	"strconv"
)

// PartVariable is the name of the environment variable with the number of a run. A test whose cases
// take turns runs those of that number; without the variable it runs all of them.
const PartVariable = "PAYLEDGER_TEST_PART"

// part is the number of the run, or allParts.
var part = mustPart(os.Getenv(PartVariable))

const allParts = -1

// Turn reports whether case number i of a test is in this run. The cases take turns: of as many
// successive numbers of runs as there are turns, each case is in one.
func Turn(i, turns int) bool { return inPart(part, i, turns) }

// Share returns the number of rounds of a test in this run, of n rounds that are shared by as many
// runs as there are turns, and the number of the share: with the seed it makes random rounds others
// in each share.
func Share(n, turns int) (rounds int, share uint64) { return shareOf(part, n, turns) }

func shareOf(part, n, turns int) (rounds int, share uint64) {
	if part == allParts {
		return n, 0
	}
	return (n + turns - 1) / turns, uint64(part % turns)
}

// AllParts reports whether this run has all cases of all tests: also what takes too long for a run
// of each commit.
func AllParts() bool { return part == allParts }

func inPart(part, i, turns int) bool { return part == allParts || part%turns == i%turns }

// partOf returns the number of the run that the variable's value means.
func partOf(value string) (int, error) {
	if value == "" {
		return allParts, nil
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", PartVariable, err)
	}
	return int(n), nil
}

func mustPart(value string) int {
	n, err := partOf(value)
	if err != nil {
		panic(err)
	}
	return n
}
