package audit

import (
	"errors"
	"io"
	"strings"
	"testing"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
)

// TestWrongArguments: a malformed key and a malformed time are usage errors (I1). The command
// reports them before it reads a file or a server.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	std := terminal.Streams{Out: io.Discard, Err: io.Discard}
	for says, err := range map[string]error{
		"--key: ": (&CheckProof{File: "no such file", Key: "x"}).Run(t.Context(), std, nil),
		"--at: ":  (&History{Payment: "01x", At: "soon", Source: Source{URL: "http://127.0.0.1:1", APIKey: "key"}}).Run(t.Context(), std, nil),
	} {
		if _, usage := errors.AsType[options.UsageError](err); !usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%s%v", says, err)
		}
	}
}
