package servicetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/apptest"
	cli "payledger/cmd/payledger/command"
	"payledger/cmd/payledger/options"
	"payledger/domain/account"
	"payledger/eventstore/secrets/apikey"
)

// TestProductionNamesEverything: one error names everything that production refuses, with the
// remedies. It repeats no secret, and nothing is written.
func TestProductionNamesEverything(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	status, out, stderr := apptest.Invoke(t, "serve", "--environment", "production", "--data", dir, "--listen", "0.0.0.0:0", "--admin-listen", ":0",
		"--master-key="+apptest.GoodMasterKey, "--processor-secret", "too short", "--processor-url", "http://user:hidden@processors.example", "--memory", "1MiB", "--tls-cert", "x")
	if status != cli.ExitUsage || out != "" || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exits %d and says %q %q", status, out, stderr)
	}
	for _, says := range []string{
		"--master-key holds a secret", "set PAYLEDGER_MASTER_KEY or --master-key-file instead",
		"--processor-secret holds a secret", "set PAYLEDGER_PROCESSOR_SECRET or --processor-secret-file instead", "--processor-url holds a secret",
		"the processor secret has 9 characters; production needs 32 or more", "--processor-url must be an https URL", "--listen 0.0.0.0:0 is public",
		"--admin-listen :0 is public", "--memory must be at least", "--tls-cert and --tls-key go together",
	} {
		if !strings.Contains(stderr, says) {
			t.Errorf("it does not say %q: %s", says, stderr)
		}
	}
	for _, secret := range []string{apptest.GoodMasterKey, "too short", "hidden"} {
		if strings.Contains(stderr, secret) {
			t.Errorf("it repeats %q", secret)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the data folder was made")
	}
}

// TestProductionOptions checks what production requires of each option, and that the sandbox
// requires none of it.
func TestProductionOptions(t *testing.T) {
	t.Parallel()
	good := apptest.TestOptions(t.TempDir())
	good.Environment, good.MasterKey, good.ProcessorSecret, good.ProcessorURL = account.Production, apptest.GoodMasterKey, []string{apptest.GoodSecret}, "https://processors.example"
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	certificate, key := selfSigned(t)
	for name, c := range map[string]struct {
		change func(*options.Options)
		says   string // "" for nothing
	}{
		"no processor secret":       {func(o *options.Options) { o.ProcessorSecret = nil }, "PAYLEDGER_PROCESSOR_SECRET (or --processor-secret-file) is needed"},
		"31 characters":             {func(o *options.Options) { o.ProcessorSecret = []string{apptest.GoodSecret[:31]} }, "has 31 characters"},
		"32 characters":             {func(o *options.Options) { o.ProcessorSecret = []string{apptest.GoodSecret[:32]} }, ""},
		"no processors":             {func(o *options.Options) { o.ProcessorURL = "" }, "the simulator is for the sandbox"},
		"processors by http":        {func(o *options.Options) { o.ProcessorURL = "http://127.0.0.1:1" }, "https URL"},
		"no URL":                    {func(o *options.Options) { o.ProcessorURL = "processors.example" }, "https URL"},
		"no master key":             {func(o *options.Options) { o.MasterKey = "" }, "PAYLEDGER_MASTER_KEY"},
		"half a master key":         {func(o *options.Options) { o.MasterKey = apptest.GoodMasterKey[:32] }, "64 hexadecimal digits"},
		"public":                    {func(o *options.Options) { o.Listen = "0.0.0.0:8080" }, "--behind-proxy"},
		"public by name":            {func(o *options.Options) { o.Listen = "pay.example:8080" }, "--behind-proxy"},
		"public by v6":              {func(o *options.Options) { o.Listen = "[::]:8080" }, "--behind-proxy"},
		"every address":             {func(o *options.Options) { o.Listen = ":8080" }, "--behind-proxy"},
		"private network":           {func(o *options.Options) { o.Listen = "10.0.0.1:8080" }, "--behind-proxy"},
		"loopback by name":          {func(o *options.Options) { o.Listen = "localhost:8080" }, ""},
		"loopback by v6":            {func(o *options.Options) { o.Listen = "[::1]:8080" }, ""},
		"public behind a proxy":     {func(o *options.Options) { o.Listen, o.BehindProxy = ":8080", true }, ""},
		"public with TLS":           {func(o *options.Options) { o.Listen, o.TLSCert, o.TLSKey = ":8443", certificate, key }, ""},
		"public with a broken file": {func(o *options.Options) { o.Listen, o.TLSCert, o.TLSKey = ":8443", key, certificate }, "--tls-cert"},
		"operators' address":        {func(o *options.Options) { o.AdminListen = "0.0.0.0:8081" }, "--admin-listen 0.0.0.0:8081 is public"},
		"operators behind a proxy":  {func(o *options.Options) { o.AdminListen, o.BehindProxy = ":8081", true }, "--admin-listen :8081 is public"},
		"operators with TLS":        {func(o *options.Options) { o.AdminListen, o.TLSCert, o.TLSKey = ":8081", certificate, key }, "--admin-listen :8081 is public"},
		"NATS with a password":      {func(o *options.Options) { o.Arguments = options.Arguments{"serve", "--nats-url", "nats://me:pw@nats"} }, "PAYLEDGER_NATS_URL"},
		"NATS, a list": {func(o *options.Options) {
			o.Arguments = options.Arguments{"serve", "--nats-url=nats://a:4222, nats://me:pw@b:4222"}
		}, "PAYLEDGER_NATS_URL"},
		"NATS, a list with a token": {func(o *options.Options) {
			o.Arguments = options.Arguments{"serve", "--nats-url", "nats://a,tls://token@b:4222,nats://c"}
		}, "PAYLEDGER_NATS_URL"},
		"NATS, a password with %": {func(o *options.Options) {
			o.Arguments = options.Arguments{"serve", "--nats-url", "nats://me:p%w@b:4222"}
		}, "PAYLEDGER_NATS_URL"},
		"NATS without a scheme": {func(o *options.Options) {
			o.Arguments = options.Arguments{"serve", "--nats-url", "a:4222,me:pw@b:4222"}
		}, "PAYLEDGER_NATS_URL"},
		"NATS, a list without": {func(o *options.Options) {
			o.Arguments = options.Arguments{"serve", "--nats-url", "nats://a:4222,b:4222,c"}
		}, ""},
		"NATS without": {func(o *options.Options) {
			o.Arguments = options.Arguments{"serve", "--nats-url", "nats://nats", "--data", "x@y"}
		}, ""},
		"a file that is not there": {func(o *options.Options) { o.MasterKey, o.MasterKeyFile = "", "/nowhere/key" }, "--master-key-file: open /nowhere/key"},
		"a file and a value":       {func(o *options.Options) { o.ProcessorSecretFile = "x" }, "both set"},
		"everything wrong in sandbox": {func(o *options.Options) {
			o.Environment, o.ProcessorURL, o.ProcessorSecret, o.Listen = account.Sandbox, "http://x", []string{"x"}, ":1"
		}, ""},
	} {
		o := good
		c.change(&o)
		if err := o.WithFiles().Check(); c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, expected %q", name, err, c.says)
		}
	}
}

// TestProductionStarts: with its secrets in files, production is initialized and serves.
func TestProductionStarts(t *testing.T) {
	t.Parallel()
	dir, key, secret := t.TempDir(), apptest.SecretFile(t, apptest.GoodMasterKey), apptest.SecretFile(t, apptest.GoodSecret)
	if status, _, stderr := apptest.Invoke(t, "init", "--environment", "production", "--data", dir, "--master-key", apptest.GoodMasterKey); status != cli.ExitUsage || !strings.Contains(stderr, "--master-key-file") {
		t.Errorf("init with the key in its arguments exits %d and says %q", status, stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the refused init left %v, %v", left, err)
	}
	if status, _, stderr := apptest.Invoke(t, "init", "--environment", "production", "--data", dir, "--master-key-file", key); status != 0 {
		t.Fatalf("init exits %d and says %q", status, stderr)
	}
	p := apptest.ServeProcess(t, "--environment", "production", "--data", dir, "--master-key-file", key, "--processor-secret-file", secret, "--processor-url", "https://127.0.0.1:1")
	p.Stop()
	if status, _, stderr := apptest.Invoke(t, "credentials", "reset", "--data", dir, "--master-key", apptest.GoodMasterKey); status != cli.ExitUsage || !strings.Contains(stderr, "PAYLEDGER_MASTER_KEY") {
		t.Errorf("reset with the key in its arguments exits %d and says %q", status, stderr)
	}
	if status, _, stderr := apptest.Invoke(t, "credentials", "reset", "--data", dir, "--master-key-file", key); status != 0 {
		t.Errorf("reset exits %d and says %q", status, stderr)
	}
}

// TestSecretsOfClientCommands: a live API key and a master key are no arguments of the commands
// that read a ledger either; a key of the sandbox is one.
func TestSecretsOfClientCommands(t *testing.T) {
	t.Parallel()
	live := apikey.New(account.Production, [apikey.RandomSize]byte{1}).Text
	for _, command := range [][]string{{"history", "pay1"}, {"reconcile", "--processor", "ADYEN"}} {
		for _, c := range []struct{ args, says []string }{
			{[]string{"--url", "http://127.0.0.1:1", "--api-key", live}, []string{"--api-key holds a secret", "set PAYLEDGER_API_KEY instead"}},
			{[]string{"--url", "http://127.0.0.1:1", "--api-key=" + live}, []string{"set PAYLEDGER_API_KEY instead"}},
			{[]string{"--data", t.TempDir(), "--master-key", apptest.GoodMasterKey}, []string{"set PAYLEDGER_MASTER_KEY or --master-key-file instead"}},
		} {
			status, out, stderr := apptest.Invoke(t, append(slices.Clone(command), c.args...)...)
			if status != cli.ExitUsage || out != "" || strings.Contains(stderr, live) || strings.Contains(stderr, apptest.GoodMasterKey) {
				t.Errorf("%s with %q exits %d and says %q %q", command[0], c.args, status, out, stderr)
			}
			for _, says := range c.says {
				if !strings.Contains(stderr, says) {
					t.Errorf("%s does not say %q: %s", command[0], says, stderr)
				}
			}
		}
		args := append(slices.Clone(command), "--url", "http://127.0.0.1:1", "--api-key", apikey.New(account.Sandbox, [apikey.RandomSize]byte{1}).Text)
		if _, _, stderr := apptest.Invoke(t, args...); !strings.Contains(stderr, "is the server running") {
			t.Errorf("%s with a key of the sandbox says %q", command[0], stderr)
		}
	}
}

// TestPprof: off by default; never at the API's address; without the command line.
func TestPprof(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		o := apptest.TestOptions(t.TempDir())
		o.Pprof = on
		apptest.Initialized(t, o.Data)
		app, err := app.Start(context.Background(), o, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := app.Stop(); err != nil {
				t.Error(err)
			}
		}()
		for _, c := range []struct {
			url    string
			answer bool
		}{
			{app.Ready().Admin + "/metrics", true}, {app.Ready().Admin + "/debug/pprof/", on}, {app.Ready().Admin + "/debug/pprof/heap", on},
			{app.Ready().Admin + "/debug/pprof/symbol", on}, {app.Ready().Admin + "/debug/pprof/cmdline", false},
			{app.Ready().API + "/debug/pprof/", false}, {app.Ready().API + "/debug/pprof/heap", false}, {app.Ready().API + "/metrics", false},
		} {
			got, err := http.Get(c.url)
			if err != nil {
				t.Fatal(err)
			}
			got.Body.Close()
			if (got.StatusCode == http.StatusOK) != c.answer {
				t.Errorf("with pprof %v, %s answers %d", on, c.url, got.StatusCode)
			}
		}
	}
}

// selfSigned makes a certificate for this machine and its key, as files.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return apptest.SecretFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}))),
		apptest.SecretFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})))
}
