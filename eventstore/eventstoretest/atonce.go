package eventstoretest

import (
	"flag"
	"strconv"
)

// AtOnce sets how many tests of a package run beside each other, from its TestMain, after flag.Parse: usually more than
// there are cores, as they wait for links and disks more than they compute, and few under the race detector, where they
// compute more than they wait.
func AtOnce(usual, underRace int) {
	n := usual
	if race {
		n = underRace
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}
