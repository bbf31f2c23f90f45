package main

import (
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

// Formats of the log (I1).
const (
	formatJSON    = "json"
	formatConsole = "console"
)

// terminal reports whether people read what is written to w.
func terminal(w io.Writer) bool {
	file, is := w.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// forPeople reports whether what is written to w is to be read by people: on a terminal, unless the format says otherwise.
func forPeople(w io.Writer, format string) bool { return terminal(w) && format != formatJSON }

// console writes log lines for people: in colours on a terminal, unless NO_COLOR is set or the terminal has none.
func console(w io.Writer) io.Writer {
	plain := !terminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: plain}
}
