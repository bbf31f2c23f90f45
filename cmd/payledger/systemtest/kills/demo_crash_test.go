//go:build system

package kills

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"payledger/cmd/payledger/apptest"
	cli "payledger/cmd/payledger/command"
	"payledger/domain/childtest"
	"payledger/eventstore/eventstoretest"
)

// crashDemo runs demo --crash as a process. Its services are processes of their own.
func crashDemo(t *testing.T, see func(line string, p *os.Process), args ...string) (status int, out, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), apptest.StartTimeout)
	defer cancel()
	folders := t.TempDir()
	command := childtest.Tied(exec.CommandContext(ctx, os.Args[0], append([]string{"demo", "--crash"}, args...)...))
	command.Env = append(os.Environ(), apptest.AsProgram+"=1", "TMPDIR="+folders,
		"PAYLEDGER_DATA="+folders, "PAYLEDGER_SHARDS=x", "PAYLEDGER_URL=http://127.0.0.1:1", "PAYLEDGER_PROCESSOR=ADYEN=http://127.0.0.1:1") // settings that are not for its services
	var errOut strings.Builder
	command.Stderr = &errOut
	text, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(text); lines.Scan(); {
		out += lines.Text() + "\n"
		see(lines.Text(), command.Process)
	}
	var exit *exec.ExitError
	if err := command.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folders); err != nil || len(left) > 0 {
		t.Errorf("the temporary folder stays: %v %v", left, err)
	}
	for _, m := range startedProcess.FindAllStringSubmatch(out, -1) {
		var pid int
		fmt.Sscan(m[1], &pid)
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d remains: %v", pid, err)
		}
	}
	return command.ProcessState.ExitCode(), out, errOut.String()
}

// startedProcess matches the line about a started service.
var startedProcess = regexp.MustCompile(`(?m)^ +process ([0-9]+) is ready after`)

// TestDemoCrash: the story of crashes ends with exit status 0 and its verdict. It leaves no process
// and no folder, even if it is interrupted while a service runs, while none runs, or at its end, by
// Ctrl-C, by SIGTERM or by the end of its terminal (I1, D8).
func TestDemoCrash(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	t.Parallel()
	status, out, stderr := crashDemo(t, func(string, *os.Process) {}, "--once")
	if status != 0 || stderr != "" {
		t.Fatalf("demo --crash --once exits %d: %s\n%s", status, stderr, out)
	}
	if started, killed := len(startedProcess.FindAllString(out, -1)), strings.Count(out, "$ kill -9 "); started != 4 || killed != 3 {
		t.Errorf("the service was started %d times and killed %d times:\n%s", started, killed, out)
	}
	for _, part := range []string{
		"the connection broke", "payment.created", "the authorization is REQUESTED in the ledger and SUCCEEDED in the books of ADYEN (OTHER_STATE)",
		"the same key again: the request is on record, and is not done twice (IdempotencyKeyAlreadyExists)",
		"the service asks ADYEN what became of the authorization: SUCCEEDED", "the service asks ADYEN what became of the capture: SUCCEEDED",
		"the service asks ADYEN what became of the refund: it has never arrived", "the service sends the refund to ADYEN again, under the same key",
		"webhook  PAYMENT.STATUS AUTHORIZED", "webhook  PAYMENT.STATUS SETTLED", "webhook  PAYMENT.REFUND SETTLED",
		"6 events. Last hash:", "0 differences. Compared with ADYEN: 1 payment of the ledger with 3 operations there, 3 entries of its books",
		"✓ Nothing was guessed", "✓ Nothing was lost", "✓ Nothing was doubled", "✓ The books agree",
		"1 authorization of 25.00 EUR, 1 capture of 25.00 EUR, 1 refund of 10.00 EUR", "The service was killed 3 times. Nothing was guessed, lost or doubled.",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("the story lacks %q:\n%s", part, out)
		}
	}
	if strings.Contains(out, "✗") || strings.Count(out, "✓ as expected") != 5 {
		t.Errorf("a result differs:\n%s", out)
	}
	for _, c := range []struct {
		line   string
		signal os.Signal
		status int
	}{
		{" init --data ", syscall.SIGHUP, cli.ExitFailure}, {"no answer yet", os.Interrupt, cli.ExitFailure}, {"no answer yet", syscall.SIGHUP, cli.ExitFailure},
		{"$ kill -9", syscall.SIGTERM, cli.ExitFailure}, {"the processors' own books", syscall.SIGHUP, 0},
	} {
		if c.signal == syscall.SIGHUP && signal.Ignored(syscall.SIGHUP) { // the tests run under nohup
			continue
		}
		interrupted := false
		status, out, stderr := crashDemo(t, func(text string, p *os.Process) {
			if strings.Contains(text, c.line) && !interrupted {
				interrupted = true
				if err := p.Signal(c.signal); err != nil {
					t.Error(err)
				}
			}
		})
		if !interrupted || status != c.status || (c.status == 0) != (stderr == "") {
			t.Errorf("interrupted by %s at %q it exits %d: %s\n%s", c.signal, c.line, status, stderr, out)
		}
	}
}

// TestDemoWithoutReader checks that a story ends and leaves no folder when its output has no reader
// any more, as in "payledger demo | head".
func TestDemoWithoutReader(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"demo"}, {"demo", "--crash"}} {
		ctx, cancel := context.WithTimeout(t.Context(), apptest.StartTimeout)
		defer cancel()
		folders := t.TempDir()
		command := childtest.Tied(exec.CommandContext(ctx, os.Args[0], args...))
		command.Env = append(os.Environ(), apptest.AsProgram+"=1", "TMPDIR="+folders)
		var stderr strings.Builder
		command.Stderr = &stderr
		out, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Error(err)
		}
		out.Close()
		var exit *exec.ExitError
		err = command.Wait()
		_, says, _ := strings.Cut("\n"+stderr.String(), "\npayledger: ") // before it perhaps webhook attempts that the end cut off
		if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitFailure || says != "interrupted before the end of the story\n" {
			t.Errorf("%v: %v: %s", args, err, stderr.String())
		}
		if left, err := os.ReadDir(folders); err != nil || len(left) > 0 {
			t.Errorf("%v: the temporary folder stays: %v %v", args, left, err)
		}
	}
}

// TestDemoCrashMisuse: flags that do not go with --crash are refused, and so is an address that is
// in use (I1).
func TestDemoCrashMisuse(t *testing.T) {
	t.Parallel()
	taken, _ := apptest.Receiver(t, "secret")
	listen, _, _ := strings.Cut(strings.TrimPrefix(taken, "http://"), "/")
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"--url", "http://127.0.0.1:8080"}, cli.ExitUsage, "leave --url out"},
		{[]string{"--api-key=x"}, cli.ExitUsage, "leave --api-key out"},
		{[]string{"--signing-secret", "x"}, cli.ExitUsage, "leave --signing-secret out"},
		{[]string{"--listen", listen}, cli.ExitFailure, "the service does not start: --listen"},
	} {
		status, _, stderr := crashDemo(t, func(string, *os.Process) {}, slices.Concat(c.args, []string{"--once"})...)
		if status != c.status || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("demo --crash %v exits %d: %s", c.args, status, stderr)
		}
	}
}
