package terminal

import (
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	logDelay  = 100 * time.Millisecond // the longest wait of a line for others
	logBuffer = 32 << 10               // bytes
)

// LogBuffer gathers lines of a log, because each write costs as much as a small request. Warnings
// and errors are written at once, with all lines before them. A kill loses the lines of the last
// 100 ms.
type LogBuffer struct {
	out io.Writer

	mu      sync.Mutex
	lines   []byte
	waiting *time.Timer // nil: no line waits
	failed  error
}

// NewLogBuffer returns a buffer that writes to out. The caller calls Flush at the end.
func NewLogBuffer(out io.Writer) *LogBuffer { return &LogBuffer{out: out} }

// Write is WriteLevel without a level: it writes at once.
func (b *LogBuffer) Write(line []byte) (int, error) { return b.WriteLevel(zerolog.NoLevel, line) }

// WriteLevel adds a line. Its error is of an earlier write if the line only waits.
func (b *LogBuffer) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line...)
	if level >= zerolog.WarnLevel || len(b.lines) >= logBuffer {
		b.write()
	} else if b.waiting == nil {
		b.waiting = time.AfterFunc(logDelay, b.Flush)
	}
	return len(line), b.failed
}

// Flush writes the lines that wait.
func (b *LogBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.write()
}

// write writes all lines. The caller holds the lock.
func (b *LogBuffer) write() {
	if b.waiting != nil {
		b.waiting.Stop()
		b.waiting = nil
	}
	if len(b.lines) > 0 {
		_, b.failed = b.out.Write(b.lines)
		b.lines = b.lines[:0]
	}
}
