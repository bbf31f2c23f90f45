package terminal

import (
	"bytes"
	"io"
	"os"
	"regexp"

	"payledger/httpapi/tone"
)

// Colours returns a writer that colours what people look for in lines: statuses, the statuses of
// HTTP answers, ✓ and ✗, and changed fields. Where no colours are wanted, it returns out: outside
// of a terminal, on a dumb one, or if NO_COLOR is set.
func Colours(out io.Writer) io.Writer {
	if plain(out) {
		return out
	}
	return &colours{out: out}
}

func plain(out io.Writer) bool {
	return !Is(out) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
}

const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	normal = "\x1b[39m"
)

var byTone = map[string]string{tone.Good: green, tone.Bad: red, tone.Warn: yellow, tone.Accent: cyan}

// notable matches words that may have a colour. In a match of several parts the second has it.
var notable = regexp.MustCompile(`^()(holds|broken|cannot|not tried)  |()(\b[A-Z][A-Z_]{3,}\b)|()([✓✗])|( |→  )([1-5][0-9][0-9])( +[0-9.]+ ms)|^( +)([+~-]) `)

// colours colours line by line. The part of a line that has no end yet is kept until its end comes.
type colours struct {
	out  io.Writer
	line []byte
}

func (c *colours) Write(text []byte) (int, error) {
	c.line = append(c.line, text...)
	end := bytes.LastIndexByte(c.line, '\n') + 1
	if end == 0 {
		return len(text), nil
	}
	var shown []byte
	for line := range bytes.Lines(c.line[:end]) {
		shown = append(shown, coloured(line)...)
	}
	c.line = append(c.line[:0], c.line[end:]...)
	if _, err := c.out.Write(shown); err != nil {
		return 0, err //nolint:wrapcheck // the writer's caller says what it wrote
	}
	return len(text), nil
}

func coloured(line []byte) (shown []byte) {
	done := 0
	for _, at := range notable.FindAllSubmatchIndex(line, -1) {
		begin, end := wordOf(at)
		colour := colourOf(string(line[begin:end]))
		if colour == "" {
			continue
		}
		shown = append(append(append(append(shown, line[done:begin]...), colour...), line[begin:end]...), normal...)
		done = end
	}
	return append(shown, line[done:]...)
}

// wordOf returns the place of the word in a match: the part after the first part that matched.
func wordOf(match []int) (begin, end int) {
	for i := 2; i+3 < len(match); i += 2 {
		if match[i] >= 0 {
			return match[i+2], match[i+3]
		}
	}
	return match[0], match[0]
}

func colourOf(word string) string {
	switch word {
	case "✓", "+", "holds":
		return green
	case "✗", "-", "broken":
		return red
	case "~", "cannot", "not tried":
		return yellow
	}
	if len(word) == len("200") {
		switch word[0] {
		case '2':
			return green
		case '4':
			return yellow
		case '5':
			return red
		}
	}
	return byTone[tone.Of(word)]
}
