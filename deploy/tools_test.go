package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// toolMissing logs the reason why a test was not run. In CI it fails.
func toolMissing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("a tool is missing: %s", why)
	}
	t.Logf("NOT RUN: %s", why)
}

// programs are built once for all tests.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "payledger-deploy-")
	if err != nil {
		return "", err
	}
	command := exec.Command("go", "build", "-buildvcs=false", "-o", dir+"/", "./cmd/payledger")
	command.Dir = ".."
	if said, err := command.CombinedOutput(); err != nil {
		return dir, &buildError{string(said), err}
	}
	return dir, nil
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

// found is what the program of testdata/manifests prints.
type found struct {
	Alerts  []string `json:"alerts"`
	Metrics []string `json:"metrics"`
	Kinds   []string `json:"kinds"`
}

// checker builds the program of testdata/manifests, or returns false where its modules cannot be had.
func checker(t *testing.T) (func(stdin string, args ...string) (found, error), bool) {
	t.Helper()
	at := t.TempDir()
	for from, to := range map[string]string{"manifests.mod": "go.mod", "manifests.sum": "go.sum", "manifests/main.go": "main.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(at, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "check", ".")
	build.Dir, build.Env = at, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if said, err := build.CombinedOutput(); err != nil {
		toolMissing(t, string(said))
		return nil, false
	}
	return func(stdin string, args ...string) (f found, err error) {
		command := exec.Command(filepath.Join(at, "check"), args...)
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
