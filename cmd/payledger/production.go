package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"payledger/eventstore/secrets"
)

// minProcessorSecret is the least length of the secret that processors sign with in production, in characters.
const minProcessorSecret = 32

// secretFlags are the flags that hold a secret. Everybody on the machine can read a process's arguments; its environment,
// and a file that only its user may read, they cannot.
var secretFlags = []string{"--master-key", "--processor-secret"}

// urlFlags are the flags that hold a URL, which may have a password in it.
var urlFlags = []string{"--nats-url", "--processor-url"}

// livePrefix begins the API keys of production (D2).
const livePrefix = "plk_live_"

// arguments are the process's arguments.
type arguments []string

// secretsIn names the flags by which the arguments hold a secret.
func (args arguments) secretsIn() (flags []string) {
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		live := flag == "--api-key" && strings.HasPrefix(strings.TrimSpace(value), livePrefix)
		if live || slices.Contains(secretFlags, flag) || slices.Contains(urlFlags, flag) && holdsPassword(value) {
			flags = append(flags, flag)
		}
	}
	return flags
}

// holdsPassword reports whether a URL, or one of several with commas between them, has a user or a password. A text that is no
// URL counts as one if it has the sign that divides them from the host.
func holdsPassword(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err == nil && u.User != nil || (err != nil || u.Host == "") && strings.Contains(part, "@") {
			return true
		}
	}
	return false
}

// argumentFaults are the secrets that the arguments of a process hold.
func (args arguments) argumentFaults() (faults []string) {
	for _, flag := range args.secretsIn() {
		name := "PAYLEDGER_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_"))
		way := "set " + name
		if slices.Contains(secretFlags, flag) {
			way += " or " + flag + "-file"
		}
		faults = append(faults, flag+" holds a secret, and everybody on the machine can read the arguments of a process: "+way+" instead")
	}
	return faults
}

// refused is the error for arguments that hold a secret; nil if they hold none. Commands have it that are run against a ledger
// whatever its environment.
func (args arguments) refused() error {
	if faults := args.argumentFaults(); len(faults) > 0 {
		return usageError{errors.New(strings.Join(faults, "; "))}
	}
	return nil
}

// readSecret returns the secret: the value, or what stands in the file.
func readSecret(flag, value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	if value != "" {
		return "", fmt.Errorf("%s and %s-file are both set: leave one out", flag, flag)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s-file: %w", flag, err)
	}
	if value = strings.TrimSpace(string(text)); value == "" {
		return "", fmt.Errorf("%s-file: %s is empty", flag, file)
	}
	return value, nil
}

// withFiles returns the options with the secrets that stand in files. A fault is kept for check.
func (o Options) withFiles() Options {
	var err error
	if o.MasterKey, err = readSecret("--master-key", o.MasterKey, o.MasterKeyFile); err != nil {
		o.faults = append(o.faults, err.Error())
	}
	if o.ProcessorSecret, err = readSecret("--processor-secret", o.ProcessorSecret, o.ProcessorSecretFile); err != nil {
		o.faults = append(o.faults, err.Error())
	}
	return o
}

// keyFaults are keys and certificates that are missing or cannot be used.
func (o Options) keyFaults() []string {
	faults := slices.Clone(o.faults)
	if o.MasterKey == "" && o.MasterKeyFile == "" {
		switch {
		case !o.sandbox():
			faults = append(faults, masterKeyNeeded)
		case o.NatsURL != "":
			faults = append(faults, "PAYLEDGER_MASTER_KEY is needed with --nats-url: every node uses the same")
		}
	} else if o.MasterKey != "" {
		if _, err := secrets.ParseKey(o.MasterKey); err != nil {
			faults = append(faults, "PAYLEDGER_MASTER_KEY: "+err.Error())
		}
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		faults = append(faults, "--tls-cert and --tls-key go together")
	} else if o.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey); err != nil {
			faults = append(faults, "--tls-cert, --tls-key: "+err.Error())
		}
	}
	return faults
}

const masterKeyNeeded = "PAYLEDGER_MASTER_KEY (or --master-key-file) is needed in production: a key beside the data protects nothing"

// productionFaults are what only production refuses.
func (o Options) productionFaults() []string {
	if o.sandbox() {
		return nil
	}
	faults := o.arguments.argumentFaults()
	switch processors, err := url.Parse(o.ProcessorURL); {
	case o.ProcessorURL == "":
		faults = append(faults, "--processor-url is needed in production: the simulator is for the sandbox")
	case err != nil || processors.Scheme != "https" || processors.Host == "":
		faults = append(faults, "--processor-url must be an https URL in production: card numbers go there")
	}
	switch n := len([]rune(o.ProcessorSecret)); {
	case n == 0 && o.ProcessorSecretFile == "":
		faults = append(faults, fmt.Sprintf("PAYLEDGER_PROCESSOR_SECRET (or --processor-secret-file) is needed in production, with %d characters or more: it signs processors' notifications", minProcessorSecret))
	case n > 0 && n < minProcessorSecret:
		faults = append(faults, fmt.Sprintf("the processor secret has %d characters; production needs %d or more", n, minProcessorSecret))
	}
	if !o.BehindProxy && (o.TLSCert == "" || o.TLSKey == "") && public(o.Listen) {
		faults = append(faults, "--listen "+o.Listen+" is public and has no TLS: set --tls-cert and --tls-key, listen on 127.0.0.1, or set --behind-proxy if a proxy ends TLS")
	}
	if public(o.AdminListen) {
		faults = append(faults, "--admin-listen "+o.AdminListen+" is public and has no TLS: listen on 127.0.0.1, where a proxy with TLS can reach it")
	}
	return faults
}

// public reports whether others than this machine reach an address. A name other than localhost counts as public.
func public(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return !ip.Unmap().IsLoopback()
	}
	return host != "localhost"
}
