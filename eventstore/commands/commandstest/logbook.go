package commandstest

import (
	"bytes"
	"strings"
	"sync"
)

// Logbook is a log that tests read while it is written.
type Logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (l *Logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Has reports whether a line of the log has all the words.
func (l *Logbook) Has(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}
