package options

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"payledger/domain/processor"
	"payledger/eventstore/secrets"
)

const minProcessorSecret = 32 // characters, in production

// ReadSecret returns the secret: the value, or the content of the file.
func ReadSecret(flag, value, file string) (string, error) {
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

// WithFiles returns the options with the secrets from files, which it reads once. Check returns its
// faults.
func (o Options) WithFiles() Options {
	if o.filesRead {
		return o
	}
	o.filesRead = true
	var err error
	if o.MasterKey, err = ReadSecret("--master-key", o.MasterKey, o.MasterKeyFile); err != nil {
		o.faults = append(o.faults, err.Error())
	}
	for flag, of := range map[string]struct {
		values *[]string
		file   string
	}{"--processor-secret": {&o.ProcessorSecret, o.ProcessorSecretFile}, "--processor-token": {&o.ProcessorToken, o.ProcessorTokenFile}} {
		text, err := ReadSecret(flag, Joined(*of.values), of.file)
		if err != nil {
			o.faults = append(o.faults, err.Error())
		} else if of.file != "" {
			*of.values = []string{text}
		}
	}
	var faults []string
	o.PreviousKey, faults = o.PreviousKey.read(o.NatsURL)
	o.faults = append(o.faults, faults...)
	return o
}

// WrittenFaults returns the keys that are written wrongly.
func (o Options) WrittenFaults() []string {
	faults := slices.Clone(o.faults)
	if o.MasterKey != "" {
		if _, err := secrets.ParseKey(o.MasterKey); err != nil {
			faults = append(faults, "PAYLEDGER_MASTER_KEY: "+err.Error())
		}
	}
	return faults
}

// KeyFaults returns the keys and certificates that are missing or unusable.
func (o Options) KeyFaults() []string {
	faults := o.WrittenFaults()
	if o.MasterKey == "" && o.MasterKeyFile == "" {
		switch {
		case !o.Sandbox():
			faults = append(faults, masterKeyNeeded)
		case o.NatsURL != "":
			faults = append(faults, "PAYLEDGER_MASTER_KEY is needed with --nats-url: every node uses the same")
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

// processorFaults returns the faults of the connections to processors.
func (o Options) processorFaults() []string {
	targets, faults := o.Targets(&o.ProcessorSecrets)
	for _, name := range processor.Names {
		if t := targets[name]; t.Timeout > o.PaymentTimeout {
			faults = append(faults, fmt.Sprintf("--processor-timeout of %s is %s, longer than --payment-timeout %s: a caller does not wait so long", name, t.Timeout, o.PaymentTimeout))
		}
	}
	return faults
}

const masterKeyNeeded = "PAYLEDGER_MASTER_KEY (or --master-key-file) is needed in production: a key beside the data protects nothing"

func (o Options) productionFaults() []string {
	if o.Sandbox() {
		return nil
	}
	faults := append(o.Arguments.Faults(), o.openFaults()...)
	if u, err := url.Parse(o.PublicURL); err == nil && u.Scheme == "http" && public(u.Hostname()) {
		faults = append(faults, "--public-url must be an https URL in production: browsers send card numbers there")
	}
	if o.InProcess() {
		faults = append(faults, "--processor NAME=URL, or --processor-url, is needed in production: the simulator is for the sandbox")
	}
	targets, _ := o.Targets(&o.ProcessorSecrets)
	for _, name := range processor.Names {
		if t, has := targets[name]; has {
			faults = append(faults, t.productionFaults(name)...)
		}
	}
	faults = unique(faults)
	if !o.BehindProxy && (o.TLSCert == "" || o.TLSKey == "") && public(o.Listen) {
		faults = append(faults, "--listen "+o.Listen+" is public and has no TLS: set --tls-cert and --tls-key, listen on 127.0.0.1, or set --behind-proxy if a proxy ends TLS")
	}
	if o.NatsListen != "" && public(o.NatsListen) && o.TLSCert == "" {
		faults = append(faults, "--nats-listen "+o.NatsListen+" is public and has no TLS: set --tls-cert and --tls-key, or listen on 127.0.0.1")
	}
	if public(o.AdminListen) {
		faults = append(faults, "--admin-listen "+o.AdminListen+" is public and has no TLS: listen on 127.0.0.1, where a proxy with TLS can reach it")
	}
	return faults
}

// public reports whether other machines can reach an address. A name other than localhost counts as
// public.
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
