package clientstest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed package.json package-lock.json spectral.yaml redocly.yaml pay.ts client.mod client.sum goclient/main.go
var files embed.FS

// Tools returns the folder of the npm packages, false where they cannot be installed, which is logged, and fails in CI.
func Tools(t testing.TB) (dir string, there bool) {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", missing(t, name+" is not installed")
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir = filepath.Join(cache, "payledger-npm-"+digest(t, "package.json", "package-lock.json"))
	if _, err := os.Stat(dir); err == nil {
		return dir, true
	}
	if err := install(t, dir); err != nil {
		return "", missing(t, err.Error())
	}
	return dir, true
}

// missing logs the reason why a test was not run.
func missing(t testing.TB, why string) bool {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("the tools of openapi.yaml are missing: %s", why)
	}
	t.Logf("NOT RUN: %s", why)
	return false
}

// digest returns a hash of the contents of files.
func digest(t testing.TB, names ...string) string {
	t.Helper()
	all := sha256.New()
	for _, name := range names {
		all.Write(content(t, name))
	}
	return hex.EncodeToString(all.Sum(nil)[:8])
}

// install installs the packages beside dir, and renames the folder to dir when all are installed.
func install(t testing.TB, dir string) error {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	at, err := os.MkdirTemp(filepath.Dir(dir), "payledger-npm-new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(at) // it does not exist after the rename
	put(t, at, "package.json", "package.json")
	put(t, at, "package-lock.json", "package-lock.json")
	if said, err := output(t, at, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"); err != nil {
		return errors.New("npm ci: " + said)
	}
	err = os.Rename(at, dir)
	if errors.Is(err, fs.ErrExist) {
		return nil // another test was faster
	}
	return err
}

// output runs a program in a folder and returns its whole output.
func output(t testing.TB, dir, name string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...) //nolint:gosec // the tests name the programs
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	said, err := command.CombinedOutput()
	return string(said), err
}

func content(t testing.TB, name string) []byte {
	t.Helper()
	text, err := files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// put writes an embedded file into a folder.
func put(t testing.TB, dir, name, as string) {
	t.Helper()
	write(t, dir, as, content(t, name))
}

func write(t testing.TB, dir, name string, text []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
