package assistant

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestLines: a line that is no message is answered with an error, and the messages before and after
// it reach the server.
func TestLines(t *testing.T) {
	t.Parallel()
	const (
		one = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		two = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	)
	long := `{"jsonrpc":"2.0","id":3,"method":"` + strings.Repeat("x", lineMost) + `"}`
	for _, c := range []struct{ between, says string }{
		{"", ""}, {"  \r", ""}, {`{"jsonrpc":`, "-32700"}, {"hello", "-32700"}, {one + two, "-32700"}, {"{}", "-32600"}, {"7", "-32600"},
		{"[]", "-32600"}, {"[7]", "-32600"}, {long, "-32600"},
	} {
		var errOut bytes.Buffer
		passed, err := io.ReadAll(newLines(strings.NewReader(one+"\n"+c.between+"\n"+two), &errOut))
		if err != nil || string(passed) != one+"\n"+two+"\n" {
			t.Errorf("%.40q: the server reads %.200q, %v", c.between, passed, err)
		}
		if got := errOut.String(); (c.says == "") != (got == "") || !strings.Contains(got, c.says) || c.says != "" && (!strings.Contains(got, `"id":null`) || strings.Count(got, "\n") != 1) {
			t.Errorf("%.40q is answered with %q, want %s", c.between, got, c.says)
		}
	}
	batch := "[" + one + "," + two + "]\n"
	if passed, err := io.ReadAll(newLines(strings.NewReader(batch), io.Discard)); err != nil || string(passed) != one+"\n"+two+"\n" {
		t.Errorf("a batch: %q, %v", passed, err)
	}
}
