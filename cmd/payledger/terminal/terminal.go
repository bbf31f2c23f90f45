package terminal

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

// Formats of the log (I1).
const (
	JSON    = "json"
	Console = "console"
)

// Streams are the outputs of a command.
type Streams struct{ Out, Err io.Writer }

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// narrow is the smallest width that a text is made for. On a narrower terminal lines wrap.
const narrow = 80

// Width returns the number of columns that a line on w may have. It is 0 outside of a terminal, and
// means that nothing is cut: the reader is a program or a file.
func Width(w io.Writer) int {
	if !Is(w) {
		return 0
	}
	columns, _, err := term.GetSize(int(w.(*os.File).Fd())) //nolint:forcetypeassert // Is has checked it
	if err != nil || columns == 0 {
		return 120
	}
	return max(columns, narrow)
}

// ForPeople reports whether output to w is for people: w is a terminal, and the format is not JSON.
func ForPeople(w io.Writer, format string) bool { return Is(w) && format != JSON }

// Pretty writes log lines for people: with colours on a terminal that has them, unless NO_COLOR is
// set.
func Pretty(w io.Writer) io.Writer {
	return zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: plain(w)}
}
