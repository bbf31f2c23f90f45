package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNoService means that no service listens on the socket of a data folder.
var ErrNoService = errors.New("no service listens")

// Client sends commands to the service of a data folder.
type Client struct {
	data string
	http *http.Client
}

// Find returns a client of the service that runs on a data folder. ErrNoService: no service runs,
// and the folder can be read directly.
func Find(ctx context.Context, data string) (*Client, error) {
	socket := filepath.Join(data, socketName)
	if to, err := os.Readlink(socket); err == nil {
		socket = to
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, done, err := shortened(filepath.Dir(socket))
		defer done()
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	conn, err := dial(ctx, "", "")
	switch {
	case errors.Is(err, errTooLong): // a service would have created a link
		return nil, ErrNoService
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR):
		return nil, ErrNoService
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s is the socket of another user's service: run this command as the user of the service", socket)
	case err != nil:
		return nil, fmt.Errorf("control: %w", err)
	}
	_ = conn.Close() // nothing was sent
	return &Client{data: data, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

// Unreachable returns the error for a data folder that is in use while no service listens on its
// socket.
func Unreachable(data string) error {
	return fmt.Errorf("%s is in use, and no service listens on %s: wait until the service is ready, or stop it",
		data, filepath.Join(data, socketName))
}

// Call sends a command. It calls each, if set, with every line of the answer except the last, which
// it decodes into done.
func (c *Client) Call(ctx context.Context, command string, in any, each func(json.RawMessage) error, done any) error {
	defer c.http.CloseIdleConnections()
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	asked, err := c.send(ctx, http.MethodGet, command, nil) // it runs no command
	if err != nil {
		return err
	}
	asked.Body.Close()
	answer, err := c.send(ctx, http.MethodPost, command, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return read(answer.Body, each, done)
	case http.StatusNotFound:
		return fmt.Errorf("the service on %s does not know the command %s: it runs another version of payledger", c.data, command)
	default:
		return fmt.Errorf("the service on %s answers %s", c.data, answer.Status)
	}
}

// send sends a request, and returns the answer if it is of the service of the client's folder.
func (c *Client) send(ctx context.Context, method, command string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://service/"+command, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the service on %s does not answer: %w", c.data, err)
	}
	if !c.isOurs(answer.Header) {
		answer.Body.Close()
		return nil, fmt.Errorf("%s leads to the service of another folder, %s there: remove this file", filepath.Join(c.data, socketName), answer.Header.Get(folderHeader))
	}
	return answer, nil
}

// isOurs reports whether an answer is of the service of the client's folder. A copy of a folder may
// have the socket of the original, or a link to it. The paths decide only if the identity of a
// folder is unknown: in a container a folder has another path, and its path may be another folder.
func (c *Client) isOurs(answer http.Header) bool {
	there, here := answer.Get(identityHeader), identity(c.data)
	if there != "" && here != "" {
		return there == here
	}
	return same(answer.Get(folderHeader), c.data)
}

// same reports whether two paths name one folder. A folder that is not visible here, as of a
// service in a container, counts as the same.
func same(theirs, ours string) bool {
	there, err := os.Stat(theirs)
	if err != nil {
		return true
	}
	here, err := os.Stat(ours)
	return err == nil && os.SameFile(there, here)
}

func read(from io.Reader, each func(json.RawMessage) error, done any) error {
	for lines := json.NewDecoder(from); ; {
		var l line
		switch err := lines.Decode(&l); {
		case err != nil:
			return fmt.Errorf("the service's answer ends before its end: %w", err)
		case l.Error != "":
			return errors.New(l.Error)
		case l.Done != nil:
			if err := json.Unmarshal(l.Done, done); err != nil {
				return fmt.Errorf("control: %w", err)
			}
			return nil
		case l.Line != nil && each != nil:
			if err := each(l.Line); err != nil {
				return err
			}
		}
	}
}
