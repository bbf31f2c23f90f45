// Package health asks a service on this machine whether it is ready, for containers: their images
// have no other program.
//
// Rules: the answer is the service's own (I1: /readyz). The command follows no redirect and sends
// no credentials.
//
// The package must not know: the log, the data folder, and any state of the service but its answer.
package health

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/cmd/payledger/terminal"
)

// Command asks a service for its readiness.
type Command struct {
	Listen  string        `help:"Address of the API, as serve has it." default:"127.0.0.1:8080"`
	TLSCert string        `name:"tls-cert" help:"As serve has it: the API takes TLS." type:"path"`
	Probe   string        `help:"Another URL, whose answer must be 200." placeholder:"URL"`
	Timeout time.Duration `help:"How long the answer may take." default:"3s"`
}

// Run returns nil if the service answers 200, and otherwise the reason.
func (c *Command) Run(ctx context.Context, _ terminal.Streams) error {
	url, err := c.url()
	if err != nil {
		return options.Usage(err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return options.Usage(err)
	}
	client := http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			// The certificate has the service's public name. This connection is to this machine,
			// and carries no secret.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
		},
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("not ready: %s answered %d %s", url, answer.StatusCode, reasonOf(answer.Body))
}

// url returns the address of /readyz. An address of all interfaces is reached over loopback.
func (c *Command) url() (string, error) {
	if c.Probe != "" {
		return c.Probe, nil
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", fmt.Errorf("--listen is %q, which is no address: %w", c.Listen, err)
	}
	if port == "0" {
		return "", errors.New("--listen has the port 0: the service's ready line has the address for --probe")
	}
	switch { // by address: an image has no file of host names
	case host == "", host == "0.0.0.0":
		host = "127.0.0.1"
	case host == "::":
		host = "::1"
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/readyz", nil
}

func reasonOf(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, 4<<10)) // a part is enough
	var known struct {
		Reason string `json:"reason"`
		Error  struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &known) == nil && known.Reason+known.Error.Description != "" {
		return known.Reason + known.Error.Description
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}
