package eventstoretest

import (
	"flag"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// gcPercent is above the default: the many small servers of tests are made and thrown away whole.
const gcPercent = 400

// Memory is collected less often than by default, except in benchmarks, which run as the service
// does.
func init() {
	benchmarks := slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.bench") })
	if !benchmarks && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// AtOnce sets how many tests of a package run beside each other, from its TestMain, after
// flag.Parse: usually more than there are cores, as they wait for links and disks more than they
// compute, and few under the race detector, where they compute more than they wait. A number that
// the command line gives with -parallel stays.
func AtOnce(usual, underRace int) {
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
