package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// settings are kept in the data folder, for the next start on it.
type settings struct {
	NATSPassword     string            `json:"natsPassword"`
	OperatorPassword string            `json:"operatorPassword"`
	RoutePassword    string            `json:"routePassword"`
	ProcessorSecret  string            `json:"processorSecret"`
	Credentials      *credentials      `json:"credentials"` // nil until the log is made
	Ports            map[string]string `json:"ports"`       // address of each node at its last start

	file string
	lock *flock.Flock
}

type credentials struct {
	AccountID     string `json:"accountId"`
	APIKey        string `json:"apiKey"`
	SigningSecret string `json:"signingSecret"`
	MasterKey     string `json:"masterKey"`
}

const (
	settingsFile = "cluster.json"
	envFile      = "cluster.env"
)

func openSettings(dir string) (*settings, error) {
	lock := flock.New(filepath.Join(dir, "lock"))
	if locked, err := lock.TryLock(); err != nil || !locked {
		return nil, errors.Join(fmt.Errorf("another local-cluster runs on %s; stop it, or name another folder with --data", dir), err)
	}
	s := &settings{file: filepath.Join(dir, settingsFile), lock: lock, Ports: map[string]string{}}
	text, err := os.ReadFile(s.file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		for _, secret := range []*string{&s.NATSPassword, &s.OperatorPassword, &s.RoutePassword, &s.ProcessorSecret} {
			*secret = newSecret()
		}
		err = s.save()
	case err == nil:
		if err = json.Unmarshal(text, s); err != nil {
			err = fmt.Errorf("%s cannot be read: %w", s.file, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// newSecret returns a random secret. It begins with a letter, because NATS reads a variable of
// digits as a number.
func newSecret() string {
	var b [24]byte
	rand.Read(b[:]) // it never fails
	return "s" + hex.EncodeToString(b[:])
}

func (s *settings) save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = writePrivate(s.file, text)
	}
	return err
}

// writePrivate replaces a file that only its user may read.
func writePrivate(name string, text []byte) error {
	file, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// writeEnv writes the variables with which payledger's commands reach the cluster.
func (s *settings) writeEnv(dir string, r ready) error {
	var text strings.Builder
	for _, v := range [][2]string{
		{"PAYLEDGER_URL", r.API[0]}, {"PAYLEDGER_API_KEY", r.APIKey}, {"PAYLEDGER_SIGNING_SECRET", r.SigningSecret},
		{"PAYLEDGER_NATS_URL", s.natsURL(r.NATS)}, {"PAYLEDGER_MASTER_KEY", s.Credentials.MasterKey},
	} {
		fmt.Fprintf(&text, "export %s='%s'\n", v[0], v[1])
	}
	return writePrivate(filepath.Join(dir, envFile), []byte(text.String()))
}

func (s *settings) natsURL(urls []string) string {
	list := make([]string, len(urls))
	for i, url := range urls {
		list[i] = strings.Replace(url, "://", "://payledger:"+s.NATSPassword+"@", 1)
	}
	return strings.Join(list, ",")
}

func (s *settings) close() error { return s.lock.Close() }
