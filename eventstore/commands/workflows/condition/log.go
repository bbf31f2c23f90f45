package condition

import (
	"slices"
	"strings"

	"payledger/domain"
	"payledger/domain/workflow"
)

const (
	// maxSeen bounds the values that an evaluation reports.
	maxSeen = 32
	// maxShown bounds the bytes of a reported value or error.
	maxShown = 120
	hidden   = "(personal)"
)

// log holds the values that an evaluation read.
type log struct {
	personal []string // paths of personal data
	seen     []workflow.Seen
	touched  bool // personal data was read
	quiet    bool // sets only touched
}

// add notes a value, once for each path.
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

// holds reports whether a path is one of personal data, or below one.
func (l *log) holds(path string) bool {
	return slices.ContainsFunc(l.personal, func(p string) bool {
		return strings.HasPrefix(path, p) && (len(path) == len(p) || path[len(p)] == '.' || path[len(p)] == '[')
	})
}

func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return domain.Beginning(s, maxShown) + "…"
}
