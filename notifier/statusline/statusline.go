package statusline

import (
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Line is the status line of one request's answer. All methods may be called from many goroutines.
type Line struct {
	Now   func() time.Time // nil: time.Now
	Found func()           // is called when the line is complete; nil: nothing is

	mu     sync.Mutex
	line   []byte // the current line, at most maxLine bytes of it
	header bool   // the line belongs to the header of an answer before the last one
	ended  bool   // no further line counts
	code   int
	at     time.Time
}

// maxLine is more than every status line, in bytes.
const maxLine = 4 << 10

var form = regexp.MustCompile(`^HTTP/[0-9]\.[0-9] ([1-9][0-9]{2})( .*)?$`)

// Begin forgets what was read: the request is sent again, on another connection.
func (l *Line) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line, l.header, l.ended, l.code = nil, false, false, 0
}

// Read takes the next bytes of the connection.
func (l *Line) Read(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range b {
		switch {
		case l.ended:
			return
		case c == '\n':
			l.end(strings.TrimSuffix(string(l.line), "\r"))
			l.line = l.line[:0]
		case len(l.line) < maxLine:
			l.line = append(l.line, c)
		}
	}
}

func (l *Line) end(line string) {
	if l.header {
		l.header = line != ""
		return
	}
	found := form.FindStringSubmatch(line)
	if found == nil {
		l.ended = true
		return
	}
	code, err := strconv.Atoi(found[1])
	switch {
	case err != nil:
		l.ended = true
	case code < http.StatusOK && code != http.StatusSwitchingProtocols:
		l.header = true
	default:
		l.ended, l.code, l.at = true, code, l.now()
		if l.Found != nil {
			l.Found()
		}
	}
}

func (l *Line) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

// Status returns the status, and the time at which its line was complete; false if no such line
// came.
func (l *Line) Status() (code int, at time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.code, l.at, l.code != 0
}

// Conn returns a connection of one request, whose bytes the line reads.
func (l *Line) Conn(c net.Conn) net.Conn { return conn{c, l} }

type conn struct {
	net.Conn
	line *Line
}

func (c conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.line.Read(b[:n])
	return n, err
}
