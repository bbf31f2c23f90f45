package main

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"payledger/deploy/connectors/adyen/api"
	"payledger/domain/processor"
)

// settings are the program's flags and secrets.
type settings struct {
	listen, data       string
	processor          processor.Name
	tlsCert, tlsKey    string
	token              string
	notificationSecret []byte
	vendor             api.Config
}

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 4 << 10

// parse reads the arguments, and the secrets from files or the environment.
func parse(args []string, environment func(string) (string, bool)) (settings, error) {
	var s settings
	set := flag.NewFlagSet("adyen", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&s.listen, "listen", "127.0.0.1:8481", "")
	set.StringVar(&s.data, "data", "", "")
	set.StringVar((*string)(&s.processor), "processor", string(processor.Adyen), "")
	set.StringVar(&s.tlsCert, "tls-cert", "", "")
	set.StringVar(&s.tlsKey, "tls-key", "", "")
	set.StringVar(&s.vendor.URL, "api-base", "https://checkout-test.adyen.com/v71", "")
	set.StringVar(&s.vendor.Account, "merchant-account", "", "")
	set.StringVar(&s.vendor.ReturnURL, "return-url", "https://localhost/", "")
	set.BoolVar(&s.vendor.Live, "live", false, "")
	set.DurationVar(&s.vendor.Late, "late", 0, "")
	var key, webhook, token, signing string
	set.StringVar(&key, "api-key-file", "", "")
	set.StringVar(&webhook, "hmac-key-file", "", "")
	set.StringVar(&token, "token-file", "", "")
	set.StringVar(&signing, "notification-secret-file", "", "")
	if err := set.Parse(args); err != nil {
		return s, fmt.Errorf("%w: see the package comment in doc.go", err)
	}
	if set.NArg() > 0 {
		return s, errors.New("there are no arguments besides flags: secrets come from files or the environment")
	}
	var failed error
	secret := func(file, flagName, variable string) string {
		text, err := readSecret(file, flagName, variable, environment)
		failed = errors.Join(failed, err)
		return text
	}
	s.vendor.APIKey = secret(key, "--api-key-file", "ADYEN_API_KEY")
	for text := range strings.FieldsSeq(secret(webhook, "--hmac-key-file", "ADYEN_HMAC_KEY")) {
		binary, err := hex.DecodeString(text)
		if err != nil {
			failed = errors.Join(failed, errors.New("the HMAC key is not hexadecimal")) // err repeats a part of it
		}
		s.vendor.HMACKeys = append(s.vendor.HMACKeys, binary)
	}
	s.token = secret(token, "--token-file", "PAYLEDGER_PROCESSOR_TOKEN")
	s.notificationSecret = []byte(secret(signing, "--notification-secret-file", "PAYLEDGER_PROCESSOR_SECRET"))
	return s, errors.Join(failed, s.check())
}

// readSecret reads a secret. No error has a part of it.
func readSecret(file, flagName, variable string, environment func(string) (string, bool)) (string, error) {
	text, is := environment(variable)
	if !is {
		text = ""
	}
	if file != "" {
		if text != "" {
			return "", fmt.Errorf("%s and %s are both given: one must go", flagName, variable)
		}
		read, err := readFile(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", flagName, err)
		}
		text = read
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", fmt.Errorf("a secret is missing: %s, or the variable %s", flagName, variable)
	}
	return text, nil
}

func readFile(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err == nil && len(text) > maxSecret {
		err = fmt.Errorf("the file is larger than %d bytes: it is no secret", maxSecret)
	}
	return string(text), errors.Join(err, file.Close())
}

func (s settings) check() error {
	if s.data == "" {
		return errors.New("--data DIR is missing: the folder of the book, which must exist")
	}
	if !slices.Contains(processor.Names, s.processor) {
		return fmt.Errorf("--processor must be one of %v", processor.Names)
	}
	if s.vendor.Account == "" {
		return errors.New("--merchant-account NAME is missing")
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		return errors.New("--tls-cert and --tls-key belong together")
	}
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if ip := net.ParseIP(host); s.tlsCert == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("--listen is no loopback address, and card numbers arrive there: it needs --tls-cert and --tls-key")
	}
	for flagName, text := range map[string]string{"--api-base": s.vendor.URL, "--return-url": s.vendor.ReturnURL} {
		if text == "" {
			continue
		}
		if u, err := url.Parse(text); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return fmt.Errorf("%s is not an absolute http or https URL", flagName)
		}
	}
	if strings.HasPrefix(s.vendor.URL, "http://") && !loopback(s.vendor.URL) {
		return errors.New("--api-base is not https, and card numbers go there")
	}
	return nil
}

func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// nothing is a log for messages of net/http, which repeat what clients sent.
func nothing() *log.Logger { return log.New(io.Discard, "", 0) }
