package main

import (
	"os"
	"testing"
)

// asProgram, set in the environment, makes the test binary the program itself: tests that kill a process
// need one to kill.
const asProgram = "PAYLEDGER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
