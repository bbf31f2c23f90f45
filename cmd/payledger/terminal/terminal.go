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

// ForPeople reports whether output to w is for people: w is a terminal, and the format is not JSON.
func ForPeople(w io.Writer, format string) bool { return Is(w) && format != JSON }

// Pretty writes log lines for people: with colours on a terminal that has them, unless NO_COLOR is
// set.
func Pretty(w io.Writer) io.Writer {
	plain := !Is(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: plain}
}
