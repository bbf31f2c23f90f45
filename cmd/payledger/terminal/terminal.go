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

// Streams are where a command writes.
type Streams struct{ Out, Err io.Writer }

// Is reports whether people read what is written to w.
func Is(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// ForPeople reports whether what is written to w is to be read by people: on a terminal, unless the format says otherwise.
func ForPeople(w io.Writer, format string) bool { return Is(w) && format != JSON }

// Pretty writes log lines for people: in colours on a terminal, unless NO_COLOR is set or the terminal has none.
func Pretty(w io.Writer) io.Writer {
	plain := !Is(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: plain}
}
