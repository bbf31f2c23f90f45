//go:build unix

package child_test

import (
	"syscall"
	"testing"
)

// TestOwnGroup: a service is in a process group of its own, which Ctrl-C does not reach.
func TestOwnGroup(t *testing.T) {
	t.Parallel()
	p, _ := program("ready")
	s, err := p.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if group, err := syscall.Getpgid(s.PID); err != nil || group != s.PID {
		t.Errorf("process %d is in the group %d (%v)", s.PID, group, err)
	}
	if err := s.Kill(); err != nil {
		t.Error(err)
	}
}
