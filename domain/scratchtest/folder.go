package scratchtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// room is what the file system in memory must have free, in bytes. All packages of the tree
// together use less than a quarter of it.
const room = 8 << 30

// inFolder is an environment variable that a test's process sets for those that it starts: TMPDIR
// is the folder already.
const inFolder = "SCRATCHTEST_FOLDER"

func init() {
	if os.Getenv(inFolder) != "" {
		return
	}
	if err := use(os.TempDir()); err != nil {
		fmt.Fprintln(os.Stderr, "scratchtest:", err)
		os.Exit(1)
	}
}

// use makes the folder and sets TMPDIR. The folder is in memory if nobody has set TMPDIR.
func use(above string) error {
	if os.Getenv("TMPDIR") == "" && !onDisk && !measures(os.Args) && inMemory != "" && free(inMemory) >= room {
		above = inMemory
	}
	dir, err := os.MkdirTemp(above, "payledger-test-")
	if err != nil {
		return err
	}
	if err := removedAtEnd(dir); err != nil {
		return err
	}
	return errors.Join(os.Setenv("TMPDIR", dir), os.Setenv(inFolder, "1"))
}

// measures reports whether the test program was started for its benchmarks.
func measures(args []string) bool {
	for _, arg := range args {
		if _, which, given := strings.Cut(arg, "-test.bench="); given && which != "" {
			return true
		}
	}
	return false
}

// removedAtEnd removes a folder when this process ends. A child waits for the end of its input: the
// kernel closes it in any case.
func removedAtEnd(dir string) error {
	ends, kept, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ends.Close()
	remove := exec.CommandContext(context.Background(), "/bin/sh", "-c", `read -r line; rm -rf -- "$0"`, dir) //nolint:gosec // the shell does not read the folder's name as a command
	remove.Stdin = ends
	remove.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's signals are for the tests
	if err := remove.Start(); err != nil {
		return err
	}
	open = kept
	return nil
}

// open is the end of the pipe that closes with this process.
var open *os.File //nolint:unused // a file that nothing refers to would be closed
