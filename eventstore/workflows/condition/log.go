package condition

import (
	"slices"
	"strings"
	"unicode/utf8"

	"payledger/domain/workflow"
)

const (
	// maxSeen is how many values an evaluation reports.
	maxSeen = 32
	// maxShown is how many bytes of a value or an error are reported.
	maxShown = 120
	hidden   = "(personal)"
)

// log holds the values that an evaluation read.
type log struct {
	personal []string // paths of personal data, and of what holds it
	seen     []workflow.Seen
	touched  bool // personal data was read
	quiet    bool // records touched alone
}

// add notes a value once.
func (l *log) add(path string, value func() string) {
	personal := l.holds(path)
	l.touched = l.touched || personal
	if l.quiet || len(l.seen) >= maxSeen || slices.ContainsFunc(l.seen, func(s workflow.Seen) bool { return s.Path == path }) {
		return
	}
	shown := hidden
	if !personal {
		shown = cut(value())
	}
	l.seen = append(l.seen, workflow.Seen{Path: cut(path), Value: shown})
}

// holds reports whether a path leads to personal data.
func (l *log) holds(path string) bool {
	return slices.ContainsFunc(l.personal, func(p string) bool {
		return strings.HasPrefix(path, p) && (len(path) == len(p) || path[len(p)] == '.' || path[len(p)] == '[')
	})
}

// cut shortens a reported text.
func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	s = s[:maxShown]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
