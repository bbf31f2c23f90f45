//go:build system

package feed_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"payledger/domain/childtest"
	_ "payledger/domain/scratchtest"
	"payledger/eventstore/feed"
)

// program is the path of payledger.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "payledger-feed-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := 1
	if err := play(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		status = m.Run()
	}
	if shared != nil {
		shared.stop()
	}
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

var shared *service

// play starts the service for the examples: one payment of 25.00 EUR, of which 20.00 EUR are
// captured.
func play(dir string) (err error) {
	if err = build(dir); err != nil {
		return err
	}
	if shared, err = start(dir); err != nil {
		return err
	}
	url, apiKey, natsURL, credentials = shared.url, shared.apiKey, shared.nats, shared.credentials
	id, err := shared.pay("order-1001")
	if err == nil {
		_, err = shared.call("/payments/"+id+"/capture", "", `{"amount": 2000}`)
	}
	if err != nil {
		return err
	}
	for e, err := range feed.NATS(natsURL, credentials).Follow(context.Background(), 0) { // until the newest event has a position
		if err != nil || e.Type == "payment.captured" {
			return err
		}
	}
	return errors.New("the payment was not captured")
}

// build builds the program into a folder.
func build(dir string) error {
	program = filepath.Join(dir, "payledger")
	said, err := childtest.Tied(exec.Command("go", "build", "-o", program, "payledger/cmd/payledger")).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, said)
	}
	return err
}

// service is a running payledger.
type service struct {
	url, apiKey string
	nats        string // address of the stream EVENTS
	credentials string // file for it
	args        []string
	process     *exec.Cmd
}

// start runs the service on a new data folder. It keeps its addresses when it is started again.
func start(dir string) (*service, error) {
	s := &service{args: []string{"serve", "--data", filepath.Join(dir, "data"), "--admin-listen", "127.0.0.1:0", "--log-level", "error"}}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	stream, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s.nats, s.credentials = "nats://"+stream, filepath.Join(dir, "reader.creds")
	s.args = append(s.args, "--listen", address, "--nats-listen", stream)
	if err := s.start(); err != nil {
		return nil, err
	}
	file, err := childtest.Tied(exec.Command(program, "analytics-user", "reader", "--data", filepath.Join(dir, "data"))).Output()
	if err != nil {
		return nil, fmt.Errorf("analytics-user: %w", err)
	}
	return s, os.WriteFile(s.credentials, file, 0o600)
}

func (s *service) start() error {
	s.process = childtest.Tied(exec.Command(program, s.args...))
	s.process.Stderr = os.Stderr
	out, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct {
			Ready       bool
			API         string
			Credentials struct{ APIKey string }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		if line.Credentials.APIKey != "" {
			s.apiKey = line.Credentials.APIKey
		}
		if line.Ready {
			s.url = line.API
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return nil
		}
	}
	return errors.Join(errors.New("the service did not start"), s.process.Wait())
}

func (s *service) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait() // it also ends when it was killed
}

// kill ends the service as a power failure does.
func (s *service) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// call posts JSON, with a client token or with the API key, and returns the answer's fields.
func (s *service) call(path, clientToken, body string) (map[string]any, error) {
	request, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if clientToken != "" {
		request.Header.Set("X-Client-Token", clientToken)
	} else {
		request.Header.Set("X-Api-Key", s.apiKey)
		request.Header.Set("X-Api-Version", "2.4")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, answer.StatusCode, text)
	}
	var fields map[string]any
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&fields)
	}
	return fields, err
}

// pay makes a payment of 25.00 EUR and returns its id.
func (s *service) pay(order string) (string, error) {
	session, err := s.call("/client-session", "", `{"orderId": "`+order+`", "currencyCode": "EUR", "amount": 2500, "metadata": {"gift": true},
		"paymentMethod": {"options": {"wrap": [1.0, null]}}}`)
	if err != nil {
		return "", err
	}
	clientToken, _ := session["clientToken"].(string)
	card, err := s.call("/payment-instruments", clientToken, `{"paymentInstrument": {"number": "4111111111111111", "cvv": "123",
		"expirationMonth": "12", "expirationYear": "2035", "cardholderName": "Ada Lovelace"}}`)
	if err != nil {
		return "", err
	}
	token, _ := card["token"].(string)
	paid, err := s.call("/payments", "", `{"paymentMethodToken": "`+token+`"}`)
	if err != nil {
		return "", err
	}
	id, _ := paid["id"].(string)
	return id, nil
}

// forged returns a credentials file of another service.
func forged(t *testing.T) string {
	t.Helper()
	other, err := start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other.stop()
	if _, err := os.Stat(other.credentials); err != nil {
		t.Fatal(err)
	}
	return other.credentials
}
