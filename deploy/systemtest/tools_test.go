//go:build system

package systemtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"payledger/domain/childtest"
)

// toolMissing logs the reason why a test was not run. In CI it fails.
func toolMissing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("a tool is missing: %s", why)
	}
	t.Logf("NOT RUN: %s", why)
}

// built are the folders of programs that tests build. TestMain removes them.
var built []string

// once makes a function that builds once for all tests, and returns the folder of the programs.
func once(build func(dir string) *exec.Cmd) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "payledger-deploy-")
		if err != nil {
			return "", err
		}
		built = append(built, dir)
		if said, err := build(dir).CombinedOutput(); err != nil {
			return "", &buildError{string(said), err}
		}
		return dir, nil
	})
}

// programs builds payledger.
var programs = once(func(dir string) *exec.Cmd {
	command := childtest.Tied(exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", "./cmd/payledger"))
	command.Dir = "../.."
	return command
})

// manifests builds the program of testdata/manifests, a module of its own.
var manifests = once(func(dir string) *exec.Cmd {
	command := childtest.Tied(exec.Command("sh", "-c", `cp manifests.mod "$0/go.mod" && cp manifests.sum "$0/go.sum" && cp manifests/main.go "$0" && cd "$0" && go build -o check .`, dir))
	command.Dir, command.Env = "testdata", append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	return command
})

type buildError struct {
	said string
	err  error
}

func (e *buildError) Error() string { return e.err.Error() + ": " + e.said }

// payledger returns the path of the program.
func payledger(t *testing.T) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "payledger")
}

// found is the output of the program in testdata/manifests.
type found struct {
	Alerts  []string `json:"alerts"`
	Metrics []string `json:"metrics"`
	Kinds   []string `json:"kinds"`
}

// checker builds the program of testdata/manifests, or returns false where its modules cannot be
// had.
func checker(t *testing.T) (func(stdin string, args ...string) (found, error), bool) {
	t.Helper()
	at, err := manifests()
	if err != nil {
		toolMissing(t, err.Error())
		return nil, false
	}
	return func(stdin string, args ...string) (f found, err error) {
		command := childtest.Tied(exec.Command(filepath.Join(at, "check"), args...))
		command.Stdin = strings.NewReader(stdin)
		var said strings.Builder
		command.Stderr = &said
		text, err := command.Output()
		if err != nil {
			return f, &buildError{said.String(), err}
		}
		return f, json.Unmarshal(text, &f)
	}, true
}
