package assistant

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

const lineMost = 4 << 20 // the greatest size of a message, in bytes

// lines reads messages, one on each line, and passes them to the server. It answers a line that is
// no message itself: the calls before it and behind it have their answers.
type lines struct {
	from *bufio.Reader
	to   io.Writer
	rest []byte // of the messages that are being passed
}

func newLines(in io.Reader, answers io.Writer) *lines {
	return &lines{from: bufio.NewReader(in), to: answers}
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, tooLong, err := l.line()
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			all, broken := messages(line, tooLong)
			for _, message := range all {
				l.rest = append(append(l.rest, message...), '\n')
			}
			if broken != nil {
				if err := l.refuse(broken); err != nil {
					return 0, err
				}
			}
		}
		if err != nil && len(l.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line reads a line. Of a line that is too long, the rest is skipped.
func (l *lines) line() (line []byte, tooLong bool, err error) {
	for {
		part, err := l.from.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > lineMost; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// messages returns the messages of a line, or its fault. A batch is passed as its messages.
func messages(line []byte, tooLong bool) ([]json.RawMessage, *fault) {
	var all []json.RawMessage
	switch {
	case tooLong:
		return nil, &fault{Code: codeInvalidRequest, Message: fmt.Sprintf("The line is longer than %d bytes.", lineMost)}
	case !json.Valid(line):
		return nil, &fault{Code: codeParse, Message: "The line is not JSON. Send one message on each line."}
	case line[0] != '[':
		all = append(all, line)
	default:
		_ = json.Unmarshal(line, &all) // it is valid
	}
	for _, text := range all {
		var m message
		if json.Unmarshal(text, &m) != nil || !m.valid() {
			return nil, &fault{Code: codeInvalidRequest, Message: "The line is no message of JSON-RPC 2.0."}
		}
	}
	if len(all) == 0 {
		return nil, &fault{Code: codeInvalidRequest, Message: "The line has no message."}
	}
	return all, nil
}

// refuse answers a line. Its id is null: it was not read.
func (l *lines) refuse(broken *fault) error {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": broken})
	if err == nil {
		_, err = l.to.Write(append(text, '\n'))
	}
	return err
}

// answers writes one message at a time.
type answers struct {
	mu sync.Mutex
	to io.Writer
}

func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.to.Write(p)
}
