package assistant

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const lineMost = 4 << 20 // the greatest size of a message, in bytes

// lines reads messages, one on each line, and passes them to the server. It answers a line that is
// no message itself: the server would end with it, and leave the calls before it without an answer.
type lines struct {
	from   *bufio.Reader
	source io.Closer
	to     io.Writer
	rest   []byte // of the messages that are being passed
}

func newLines(in io.ReadCloser, answers io.Writer) *lines {
	return &lines{from: bufio.NewReader(in), source: in, to: answers}
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, tooLong, err := l.line()
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			all, fault := messages(line, tooLong)
			for _, message := range all {
				l.rest = append(append(l.rest, message...), '\n')
			}
			if fault != nil {
				if err := l.refuse(fault); err != nil {
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

func (l *lines) Close() error { return l.source.Close() }

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

// messages returns the messages of a line, or its fault. A batch is passed as its messages: the
// server would end with a batch.
func messages(line []byte, tooLong bool) (all []json.RawMessage, fault *jsonrpc.Error) {
	switch {
	case tooLong:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("The line is longer than %d bytes.", lineMost)}
	case !json.Valid(line):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "The line is not JSON. Send one message on each line."}
	case line[0] != '[':
		all = append(all, line)
	default:
		_ = json.Unmarshal(line, &all) // it is valid
	}
	for _, message := range all {
		if _, err := jsonrpc.DecodeMessage(message); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "The line is no message of JSON-RPC 2.0."}
		}
	}
	if len(all) == 0 {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "The line has no message."}
	}
	return all, nil
}

// refuse answers a line. Its id is null: it was not read.
func (l *lines) refuse(fault *jsonrpc.Error) error {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": fault})
	if err == nil {
		_, err = l.to.Write(append(text, '\n'))
	}
	return err
}

// answers writes one message at a time. Its owner closes the writer below.
type answers struct {
	mu sync.Mutex
	to io.Writer
}

func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.to.Write(p)
}

func (a *answers) Close() error { return nil }
