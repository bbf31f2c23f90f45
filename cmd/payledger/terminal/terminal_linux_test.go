package terminal

import (
	"bufio"
	"fmt"
	"testing"

	"payledger/cmd/payledger/terminal/terminaltest"
)

// TestWidth: the width is that of the terminal, at least 80 columns; another output has no limit.
// Colours are for a terminal, unless NO_COLOR is set or it is a dumb one.
func TestWidth(t *testing.T) {
	for columns, want := range map[uint16]int{200: 200, 90: 90, 40: 80, 0: 120} {
		_, inner := terminaltest.Open(t, columns)
		if got := Width(inner); got != want {
			t.Errorf("a terminal of %d columns has %d, want %d", columns, got, want)
		}
	}
	outer, inner := terminaltest.Open(t, 100)
	if got := Width(nil); got != 0 {
		t.Errorf("a pipe has %d columns", got)
	}
	for _, c := range []struct{ variable, value, want string }{
		{"TERM", "xterm", green + "SETTLED" + normal}, {"NO_COLOR", "1", "SETTLED"}, {"NO_COLOR", "", green + "SETTLED" + normal}, {"TERM", "dumb", "SETTLED"},
	} {
		t.Setenv(c.variable, c.value)
		if _, err := fmt.Fprintln(Colours(inner), "SETTLED"); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReaderSize(outer, 1).ReadString('\n')
		if err != nil || line != c.want+"\r\n" {
			t.Errorf("with %s=%s it prints %q, %v", c.variable, c.value, line, err)
		}
	}
}
