package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"payledger/eventstore/eventstoretest"
)

// asProgram, set in the environment, makes the test binary the program itself: tests that kill a process
// need one to kill.
const asProgram = "TEST_AS_PAYLEDGER"

// asProbe makes the test binary a process that requests the URL again and again.
const asProbe = "PAYLEDGER_TEST_AS_PROBE"

func TestMain(m *testing.M) {
	embeddedReadTimeout = time.Minute
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	if service := os.Getenv(clockAhead); service != "" {
		os.Exit(runAhead(service))
	}
	if url := os.Getenv(asProbe); url != "" {
		if err := probe(url, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	forgetSettings()
	eventstoretest.AtOnce(8, 3)
	os.Exit(m.Run())
}

// forgetSettings removes the program's settings from the environment: each test sets its own.
func forgetSettings() {
	for _, set := range os.Environ() {
		if name, _, _ := strings.Cut(set, "="); strings.HasPrefix(name, "PAYLEDGER_") && name != "PAYLEDGER_SCREENSHOTS" {
			os.Unsetenv(name)
		}
	}
}
