package options_test

import (
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"payledger/cmd/payledger/options"
)

// TestDecimalNumbers: the numbers of flags are decimal. 0250 is refused: for the parser's own
// reader it is 168.
func TestDecimalNumbers(t *testing.T) {
	t.Parallel()
	var flags struct {
		Int  int
		Long int64
		Uint uint64
		Wait time.Duration
	}
	var values options.Parsing
	parser, err := kong.New(&flags, values.Option())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"--int=0", "--long=-250", "--uint=18446744073709551615", "--wait=90s"}); err != nil ||
		flags.Int != 0 || flags.Long != -250 || flags.Uint != 1<<64-1 || flags.Wait != 90*time.Second {
		t.Errorf("flags are %+v, %v", flags, err)
	}
	for _, refused := range []string{
		"--long=0250", "--long=0x10", "--long=0b1", "--long=0o7", "--long=1_000", "--long=1,000", "--long=1.5", "--long=+5", "--long=", "--long=--5",
		"--long=9223372036854775808", "--long=-007", "--uint=-1", "--uint=18446744073709551616", "--int=1e3", "--int= 5",
	} {
		parsed, err := parser.Parse([]string{refused})
		if err == nil && len(values.Faults(parsed, options.Arguments{refused})) != 1 {
			t.Errorf("%s is accepted: %+v", refused, flags)
		}
	}
}
