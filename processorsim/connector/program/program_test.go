package program_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"payledger/domain/processor"
	"payledger/processorsim/conformance"
	"payledger/processorsim/connector"
	"payledger/processorsim/connector/book"
	"payledger/processorsim/connector/program"
	"payledger/processorsim/protocol"
)

// role, set in the environment, makes the test binary the program.
const role = "PROGRAM_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	newProgram().Main()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var secrets = map[string]string{
	"BANK_API_KEY": "key-of-the-bank", "PAYLEDGER_PROCESSOR_TOKEN": "token-of-the-ledger", "PAYLEDGER_PROCESSOR_SECRET": "s3cret-of-notifications",
}

func environment(name string) (string, bool) { text, is := secrets[name]; return text, is }

// running is a program that answers.
type running struct {
	program.Ready
	stop  func()
	ended chan error
}

func start(t *testing.T, p *program.Program, args ...string) running {
	t.Helper()
	must(t, p.Parse(append([]string{"--data", t.TempDir(), "--listen", "127.0.0.1:0"}, args...), environment))
	r := running{ended: make(chan error, 1)}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	out, in := io.Pipe()
	go func() { r.ended <- p.Run(ctx, in, zerolog.Nop()) }()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	must(t, err)
	must(t, json.Unmarshal(line, &r.Ready))
	return r
}

// TestExample: the connector of the example keeps every promise that it does not declare as a lack.
func TestExample(t *testing.T) {
	r := start(t, newProgram())
	calls := &http.Transport{}
	report, err := conformance.Run(t.Context(), conformance.Config{
		URL: r.URL, Processor: r.Processor, Token: secrets["PAYLEDGER_PROCESSOR_TOKEN"], Secret: secrets["PAYLEDGER_PROCESSOR_SECRET"], Destructive: true,
		HTTP: calls, Patience: 20 * time.Second,
	})
	must(t, err)
	for _, f := range report.Checks {
		t.Logf("%-24s %-9s %s", f.ID, f.Result, f.Reason)
		if f.Result == conformance.Broken {
			t.Errorf("%s: %s: %+v", f.ID, f.Reason, f.Exchanges)
		}
	}
	if n := report.Count(conformance.Holds); n < 20 {
		t.Errorf("%d promises hold", n)
	}
	calls.CloseIdleConnections()
	r.stop()
	must(t, <-r.ended)
}

// TestRun: the program is healthy, takes calls with the ledger's token only, and gives the vendor
// its messages. Over TLS, too.
func TestRun(t *testing.T) {
	flags, trusting := certificate(t)
	for scheme, args := range map[string][]string{"http": nil, "https": flags} {
		t.Run(scheme, func(t *testing.T) {
			r := start(t, newProgram(), args...)
			if !r.Ready.Ready || r.Live || r.PID != os.Getpid() || r.Processor != processor.Worldpay || r.Events != r.URL+connector.EventsPath || !strings.HasPrefix(r.URL, scheme+"://") {
				t.Errorf("%+v", r.Ready)
			}
			for _, row := range []struct {
				method, path, token string
				status              int
			}{
				{http.MethodGet, "/healthz", "", 200}, {http.MethodGet, "/v1/processors/WORLDPAY", "", 401},
				{http.MethodGet, "/v1/processors/WORLDPAY", "token-of-the-ledger", 200}, {http.MethodPost, connector.EventsPath, "", 400},
			} {
				request, err := http.NewRequestWithContext(t.Context(), row.method, r.URL+row.path, strings.NewReader("{}"))
				must(t, err)
				request.Header.Set("Authorization", "Bearer "+row.token)
				answer, err := trusting.Do(request)
				must(t, err)
				if err := answer.Body.Close(); err != nil || answer.StatusCode != row.status {
					t.Errorf("%s %s: %d %v", row.method, row.path, answer.StatusCode, err)
				}
			}
			trusting.CloseIdleConnections()
			r.stop()
			must(t, <-r.ended)
		})
	}
}

// certificate returns the flags for a certificate of this machine, and a client that trusts it.
func certificate(t *testing.T) ([]string, *http.Client) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair, dir := server.TLS.Certificates[0], t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must(t, err)
	write := func(name, kind string, der []byte) string {
		name = filepath.Join(dir, name)
		must(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return name
	}
	return []string{"--tls-cert", write("cert", "CERTIFICATE", pair.Certificate[0]), "--tls-key", write("key", "PRIVATE KEY", key)}, server.Client()
}

// TestMainFunction: --help lists the flags; a wrong flag and a wrong folder end the program with
// status 1 and the reason; SIGTERM ends it in order.
func TestMainFunction(t *testing.T) {
	command := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
		c, errs := exec.CommandContext(t.Context(), os.Args[0], args...), &bytes.Buffer{}
		c.Env, c.Stderr = []string{role + "=program"}, errs
		for name, text := range secrets {
			c.Env = append(c.Env, name+"="+text)
		}
		return c, errs
	}
	help, _ := command("--help")
	text, err := help.Output()
	must(t, err)
	for _, flagName := range []string{"--data", "--listen", "--tls-cert", "--token-file FILE", "BANK_API_KEY", "127.0.0.1:8482"} {
		if !strings.Contains(string(text), flagName) {
			t.Errorf("--help lacks %s: %s", flagName, text)
		}
	}
	for _, args := range [][]string{{"--wrong"}, {"--data", filepath.Join(t.TempDir(), "absent")}} {
		c, errs := command(args...)
		if c.Run() == nil || c.ProcessState.ExitCode() != 1 || !strings.HasPrefix(errs.String(), "bank: ") {
			t.Errorf("%v: %s %s", args, c.ProcessState, errs)
		}
	}
	c, errs := command("--data", t.TempDir(), "--listen", "127.0.0.1:0")
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	var ready program.Ready
	if err := json.NewDecoder(out).Decode(&ready); err != nil || ready.PID != c.Process.Pid {
		t.Errorf("%+v %v", ready, err)
	}
	must(t, c.Process.Signal(syscall.SIGTERM))
	if err := c.Wait(); err != nil || errs.Len() > 0 {
		t.Errorf("%v: %s", err, errs)
	}
}

// TestNoStart: a program that cannot serve says why, and prints no ready line.
func TestNoStart(t *testing.T) {
	used := start(t, newProgram())
	refused := errors.New("the settings are wrong")
	for name, row := range map[string]struct {
		args   []string
		vendor error
		want   string
	}{
		"vendor":      {nil, refused, refused.Error()},
		"certificate": {[]string{"--tls-cert", "absent", "--tls-key", "absent"}, nil, "--tls-cert"},
		"address":     {[]string{"--listen", strings.TrimPrefix(used.URL, "http://")}, nil, "address already in use"},
		"folder":      {[]string{"--data", filepath.Join(t.TempDir(), "absent")}, nil, "absent"},
	} {
		p := newProgram()
		must(t, p.Parse(append([]string{"--data", t.TempDir(), "--listen", "127.0.0.1:0"}, row.args...), environment))
		if row.vendor != nil {
			p.Vendor = func(zerolog.Logger) (connector.Vendor, error) { return nil, row.vendor }
		}
		out := &bytes.Buffer{}
		if err := p.Run(t.Context(), out, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), row.want) || out.Len() > 0 {
			t.Errorf("%s: %v, printed %q", name, err, out)
		}
	}
	used.stop()
	must(t, <-used.ended)
}

// live is a vendor that moves real money.
type live struct{ connector.Vendor }

func (l live) Declaration() protocol.Declaration {
	d := l.Vendor.Declaration()
	d.Live = true
	return d
}

// TestNewBook: a connector with real money begins a book only if it is ordered to, and once.
func TestNewBook(t *testing.T) {
	dir := t.TempDir()
	run := func(real bool, args ...string) error {
		p := newProgram()
		must(t, p.Parse(append([]string{"--data", dir, "--listen", "127.0.0.1:0"}, args...), environment))
		if made := p.Vendor; real {
			p.Vendor = func(log zerolog.Logger) (connector.Vendor, error) {
				v, err := made(log)
				return live{v}, err
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		p.Started = func(program.Ready) { stop() }
		defer stop()
		return p.Run(ctx, io.Discard, zerolog.Nop())
	}
	if err := run(true); err == nil || !strings.Contains(err.Error(), "has no book") {
		t.Errorf("an empty folder: %v", err)
	}
	must(t, run(true, "--new-book"))
	must(t, run(true))
	if err := run(true, "--new-book"); err == nil || !strings.Contains(err.Error(), "leave the flag out") {
		t.Errorf("a second book: %v", err)
	}
	must(t, os.Rename(filepath.Join(dir, book.FileName), filepath.Join(dir, "away")))
	if err := run(true); err == nil || !strings.Contains(err.Error(), "not mounted") {
		t.Errorf("the book is away: %v", err)
	}
	must(t, run(false))
}

// TestSettings: what is missing or dangerous is refused, and no error has a part of a secret.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	token, large := write("token", " token-of-the-ledger\n"), write("large", strings.Repeat("s3cret", 1000))
	for name, row := range map[string]struct {
		args    []string
		without string // the variable
		want    string // in the error; "" for none
	}{
		"plain":               {nil, "", ""},
		"token of a file":     {[]string{"--token-file", token}, "PAYLEDGER_PROCESSOR_TOKEN", ""},
		"token twice":         {[]string{"--token-file", token}, "", "both given"},
		"no token":            {nil, "PAYLEDGER_PROCESSOR_TOKEN", "--token-file"},
		"no secret":           {nil, "PAYLEDGER_PROCESSOR_SECRET", "PAYLEDGER_PROCESSOR_SECRET"},
		"no key":              {nil, "BANK_API_KEY", "BANK_API_KEY"},
		"file is absent":      {[]string{"--token-file", dir + "/absent"}, "PAYLEDGER_PROCESSOR_TOKEN", "--token-file"},
		"file is empty":       {[]string{"--token-file", write("empty", "\n")}, "PAYLEDGER_PROCESSOR_TOKEN", "missing"},
		"file too large":      {[]string{"--token-file", large}, "PAYLEDGER_PROCESSOR_TOKEN", "no secret"},
		"secret as flag":      {[]string{"--token", "s3cret"}, "", "--help"},
		"argument":            {[]string{"s3cret"}, "", "no arguments"},
		"no folder":           {[]string{"--data", ""}, "", "--data"},
		"another name":        {[]string{"--processor", "NOBODY"}, "", "--processor"},
		"public":              {[]string{"--listen", "0.0.0.0:8480"}, "", "--listen"},
		"every address":       {[]string{"--listen", ":8480"}, "", "--listen"},
		"public, TLS":         {[]string{"--listen", "0.0.0.0:8480", "--tls-cert", "c", "--tls-key", "k"}, "", ""},
		"half of TLS":         {[]string{"--tls-cert", "c"}, "", "belong together"},
		"no port":             {[]string{"--listen", "127.0.0.1"}, "", "--listen"},
		"plain API":           {[]string{"--api", "http://bank.example"}, "", "--api"},
		"API in capitals":     {[]string{"--api", "HTTP://bank.example"}, "", "--api"},
		"API of a test":       {[]string{"--api", "http://127.0.0.1:1"}, "", ""},
		"API over TLS":        {[]string{"--api", "https://bank.example"}, "", ""},
		"API with a user":     {[]string{"--api", "https://u:s3cret@bank.example"}, "", "--api"},
		"page":                {[]string{"--page", "http://shop.example/back"}, "", ""},
		"page of a script":    {[]string{"--page", "javascript:x"}, "", "--page"},
		"page without scheme": {[]string{"--page", "shop.example"}, "", "--page"},
	} {
		p := newProgram()
		var api, page string
		p.API(&api, "api", "", "the API")
		p.Page(&page, "page", "", "the page")
		err := p.Parse(append([]string{"--data", dir}, row.args...), func(name string) (string, bool) {
			text, is := environment(name)
			return text, is && name != row.without
		})
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, hidden := range []string{"s3cret", "token-of-the-ledger", "key-of-the-bank"} {
			if err != nil && strings.Contains(err.Error(), hidden) {
				t.Errorf("%s: the error has a secret: %v", name, err)
			}
		}
	}
}
