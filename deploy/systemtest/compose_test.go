//go:build system

package systemtest

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"payledger/domain/childtest"
)

// TestCompose: compose loads the file, and a missing secret or a wrong setting is an error.
func TestCompose(t *testing.T) {
	check, there := checker(t)
	if !there {
		return
	}
	for _, name := range []string{"PAYLEDGER_NATS_PASSWORD", "PAYLEDGER_NATS_OPERATOR_PASSWORD"} {
		t.Setenv(name, "secret")
	}
	if _, err := check("", "compose", "../compose.yaml"); err == nil || !strings.Contains(err.Error(), "PAYLEDGER_PROCESSOR_SECRET") {
		t.Errorf("without a secret: %v", err)
	}
	t.Setenv("PAYLEDGER_PROCESSOR_SECRET", "secret")
	loaded, err := check("", "compose", "../compose.yaml")
	expected := []string{"init", "nats-1", "nats-2", "nats-3", "payledger-1", "payledger-2", "proxy", "simulator"}
	if slices.Sort(loaded.Kinds); err != nil || !slices.Equal(loaded.Kinds, expected) {
		t.Errorf("the services are %v, %v", loaded.Kinds, err)
	}
	text, err := os.ReadFile("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for old, wrong := range map[string]string{"read_only: true": "readonly: true", "networks: [nats, api]": "networks: [nats, apis]", "nats-3: {}": "", "  nats-2:\n    <<": "  nats-4:\n    <<"} {
		file := filepath.Join(t.TempDir(), "compose.yaml")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, wrong)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := check("", "compose", file); err == nil {
			t.Errorf("%q passes", wrong)
		}
	}
}

// TestProxy: HAProxy takes the proxy's configuration.
func TestProxy(t *testing.T) {
	if _, err := exec.LookPath("haproxy"); err != nil {
		toolMissing(t, "haproxy is not installed")
		return
	}
	if said, err := childtest.Tied(exec.Command("haproxy", "-c", "-f", "../proxy/haproxy.cfg")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestCertificates: the script makes certificates that the servers accept of each other, again for
// an authority that is there, and a key that others cannot read.
func TestCertificates(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		toolMissing(t, "openssl is not installed")
		return
	}
	dir := t.TempDir()
	script, err := filepath.Abs("../certificates")
	if err != nil {
		t.Fatal(err)
	}
	var authority []byte
	for range 2 {
		if said, err := childtest.Tied(exec.Command(script, dir)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		text, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err != nil || authority != nil && string(text) != string(authority) {
			t.Fatalf("the second run made another authority: %v", err)
		}
		authority = text
	}
	if info, err := os.Stat(filepath.Join(dir, "ca.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the authority's key has the mode %v, %v", info.Mode(), err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	for _, name := range []string{"nats-1", "nats-2", "nats-3"} {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name, "server.crt"), filepath.Join(dir, name, "server.key"))
		if err != nil {
			t.Fatal(err)
		}
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if said, err := childtest.Tied(exec.Command(script)).CombinedOutput(); err == nil || !strings.Contains(string(said), "usage:") {
		t.Errorf("without a folder: %v, %s", err, said)
	}
}
