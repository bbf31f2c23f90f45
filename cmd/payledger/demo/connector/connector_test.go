package connector_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/demo/connector"
)

// role, set in the environment, makes the test binary a program that behaves in one way.
const role = "CONNECTOR_TEST_ROLE"

func TestMain(m *testing.M) {
	line := ""
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "refuses":
		fmt.Fprintln(os.Stderr, filepath.Base(os.Args[0])+": a secret is missing")
		os.Exit(1)
	case "service":
		line = `{"ready":true,"api":"http://127.0.0.1:1"}`
	case "live":
		line = `{"ready":true,"processor":"STRIPE","url":"http://127.0.0.1:1","live":true}`
	case "mute":
		line = `{"ready":true,"processor":"STRIPE","url":"http://127.0.0.1:1"}`
	case "number":
		line = `{"ready":true,"processor":1}`
	}
	fmt.Println(line)
	select {}
}

// TestRefused: a program that cannot be the connector of a story is refused with the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	for as, want := range map[string]string{
		"refuses": "does not start: a secret is missing", "service": "not the program of a connector", "live": "real money", "mute": "does not declare itself",
		"number": "cannot be read",
	} {
		_, err := connector.Open(t.Context(), connector.Config{
			Program: os.Args[0], Env: []string{role + "=" + as}, Dir: filepath.Join(t.TempDir(), "book"), Log: io.Discard,
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", as, err)
		}
	}
}

// TestMissing: the error about a program that is not there has the command that builds it.
func TestMissing(t *testing.T) {
	t.Chdir("../../../..") // the source tree
	for program, want := range map[string]string{
		"stripe-double":             `go build -C deploy/connectors/stripe -o "$PWD/stripe-double" ./stripe-double && payledger demo --processor ./stripe-double`,
		"bin/stripe-double":         `go build -C deploy/connectors/stripe -o "$PWD/stripe-double" ./stripe-double && `,
		"adyen":                     `go build -C deploy/connectors/adyen -o "$PWD/adyen" . && `,
		"deploy/connectors/adyen":   `is a folder, not a program; this builds and plays it: go build -C deploy/connectors/adyen `,
		"a-connector-of-no-one":     `go build -C deploy/connectors/VENDOR `,
		"deploy/connectors/[broken": `go build -C deploy/connectors/VENDOR `,
	} {
		_, err := connector.Open(t.Context(), connector.Config{Program: program, Dir: filepath.Join(t.TempDir(), "book"), Log: io.Discard})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", program, err)
		}
	}
}
