package childtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// role, set in the environment, makes the test binary one of the processes of TestTied.
const role = "CHILDTEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "child": // waits for a signal
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGTERM)
		fmt.Println("runs")
		fmt.Println(<-got)
	default: // starts the child, and waits until it is killed
		tie := map[string]func(*exec.Cmd) *exec.Cmd{"tied": Tied, "tied in order": TiedInOrder}[os.Getenv(role)]
		child := tie(exec.Command(os.Args[0]))
		child.Env, child.Stdout, child.Stderr = append(os.Environ(), role+"=child"), os.Stdout, os.Stderr
		fmt.Println(child.Run())
	}
}

// TestTied: a child ends when the process that started it is killed, at once or after the work that
// SIGTERM makes it do.
func TestTied(t *testing.T) {
	t.Parallel()
	for as, last := range map[string]string{"tied": "", "tied in order": syscall.SIGTERM.String() + "\n"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		parent := Tied(exec.Command(os.Args[0]))
		parent.Env, parent.Stdout, parent.Stderr = append(os.Environ(), role+"="+as), write, os.Stderr
		err = parent.Start()
		write.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(read)
		line, err := lines.ReadString('\n')
		if line != "runs\n" {
			t.Errorf("%s: the child says %q, %v", as, line, err)
		}
		if err := parent.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = parent.Wait()                  // it was killed
		line, err = lines.ReadString('\n') // the pipe ends with the child
		if !errors.Is(err, io.EOF) && last == "" || line != last {
			t.Errorf("%s: after the end of its parent the child says %q, %v; expected %q", as, line, err, last)
		}
		if _, err := lines.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the child remains: %v", as, err)
		}
	}
}
