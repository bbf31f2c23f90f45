package child_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"payledger/cmd/payledger/demo/child"
)

// role, set in the environment, makes the test binary a program that behaves in one way.
const role = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "ready":
		fmt.Fprintln(os.Stderr, "a line of the log")
		fmt.Println(`{"ready":true,"api":"http://127.0.0.1:1","admin":"http://127.0.0.1:2"}`)
		select {}
	case "refused":
		fmt.Fprintln(os.Stderr, "a line of the log")
		fmt.Fprintln(os.Stderr, "payledger: --listen: address already in use")
		os.Exit(1)
	case "silent":
		os.Exit(3)
	}
}

func program(as string) (child.Program, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return child.Program{Path: os.Args[0], Env: []string{role + "=" + as}, Log: log}, log
}

// TestServe: a service is ready at its addresses, and gone after Kill and after the end of its
// context.
func TestServe(t *testing.T) {
	t.Parallel()
	p, log := program("ready")
	s, err := p.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.API != "http://127.0.0.1:1" || s.Admin != "http://127.0.0.1:2" || s.PID == 0 {
		t.Errorf("the service is at %+v, process %d", s.Addresses, s.PID)
	}
	for range 2 { // a second kill finds it gone
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	}
	if log.String() != "a line of the log\n" {
		t.Errorf("its log is %q", log)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if s, err = p.Serve(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-s.Ended()
}

// TestNoStart: the error of a service that does not start has the reason, and its log does not
// repeat it.
func TestNoStart(t *testing.T) {
	t.Parallel()
	for as, reason := range map[string]string{"refused": "the service does not start: --listen: address already in use", "silent": "exit status 3"} {
		p, log := program(as)
		if _, err := p.Serve(t.Context()); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: the error is %v, expected %q", as, err, reason)
		}
		if strings.Contains(log.String(), "--listen") {
			t.Errorf("%s: the log repeats the reason: %s", as, log)
		}
		if _, err := p.Init(t.Context(), t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "init: ") {
			t.Errorf("%s: the error of init is %v", as, err)
		}
	}
	missing := child.Program{Path: filepath.Join(t.TempDir(), "payledger"), Log: &bytes.Buffer{}}
	if _, err := missing.Serve(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a program the error is %v", err)
	}
}
