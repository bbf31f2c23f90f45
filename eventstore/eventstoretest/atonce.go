package eventstoretest

import (
	"flag"
	"runtime/debug"
	"strconv"
)

const gcPercent = 400

// AtOnce sets how many tests of a package run beside each other, from its TestMain, after
// flag.Parse: usually more than there are cores, as they wait for links and disks more than they
// compute, and few under the race detector, where they compute more than they wait. Memory is
// collected less often than by default: the many small servers of tests are made and thrown away
// whole. A number that the command line gives with -parallel stays.
func AtOnce(usual, underRace int) {
	if flag.Lookup("test.bench").Value.String() == "" { // benchmarks run as the service does
		debug.SetGCPercent(gcPercent)
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	n := usual
	if race {
		n = underRace
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}
