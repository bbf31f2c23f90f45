package main

import (
	"flag"
	"os"
	"testing"
)

// asProgram, set in the environment, makes the test binary the program itself: tests that kill a process
// need one to kill.
const asProgram = "PAYLEDGER_TEST_AS_PROGRAM"

// testsAtOnce: they wait for disks, browsers, processors and each other's processes more than they compute.
const testsAtOnce = "6"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", testsAtOnce); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
