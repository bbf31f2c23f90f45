package audit

import (
	"errors"
	"io"
	"strings"
	"testing"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
)

// TestWrongArguments: a text that is no key, and one that is no time, are wrong usage (I1). Neither
// a file nor a server is read before.
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
