package main

import (
	"flag"
	"os"
	"testing"

	"payledger/eventstore/eventstoretest"
)

// asProgram, set in the environment, makes the test binary the program itself: tests that kill a process
// need one to kill.
const asProgram = "PAYLEDGER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	flag.Parse()
	eventstoretest.AtOnce(6, 2)
	os.Exit(m.Run())
}
