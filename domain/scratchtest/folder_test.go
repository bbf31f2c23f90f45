package scratchtest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// role, set in the environment, makes the test binary the process of TestKilled.
const role = "SCRATCHTEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	file, err := os.CreateTemp("", "file") // one of many that a test leaves when it is killed
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(file.Name() + "\n")
	select {}
}

// TestKilled: the folder of a killed process is removed with its files.
func TestKilled(t *testing.T) {
	t.Parallel()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), role+"=child", inFolder+"=") // as if nobody had made the folder
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(strings.TrimSpace(line))
	if _, err := os.Stat(dir); err != nil || filepath.Dir(dir) != os.Getenv("TMPDIR") {
		t.Errorf("the child's folder %s is not there, or not in the test's folder %s: %v", dir, os.Getenv("TMPDIR"), err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	gone := time.Now().Add(time.Minute)
	for {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		if time.Now().After(gone) {
			t.Fatalf("%s is still there", dir)
		}
	}
}

// TestMeasures: benchmarks are measured on the disk.
func TestMeasures(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]bool{"-test.bench=.": true, "--test.bench=Append": true, "-test.bench=": false, "-test.benchtime=1s": false} {
		if got := measures([]string{"program", arg}); got != want {
			t.Errorf("%s: %t", arg, got)
		}
	}
}
