package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

var secrets = map[string]string{
	"ADYEN_API_KEY": "api-key-that-is-in-no-log", "ADYEN_HMAC_KEY": "44782DEF547AAA06C910C43932B1EB0C 00112233445566778899AABBCCDDEEFF",
	"PAYLEDGER_PROCESSOR_TOKEN": "token-of-the-ledger", "PAYLEDGER_PROCESSOR_SECRET": "secret-of-notifications",
}

func environment(name string) (string, bool) { text, set := secrets[name]; return text, set }

// TestRun: the program prints its ready line, declares itself to the ledger's token only, takes no
// webhook without a signature, and ends in order.
func TestRun(t *testing.T) {
	s, err := parse([]string{"--data", t.TempDir(), "--merchant-account", "TestMerchant", "--listen", "127.0.0.1:0"}, environment)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.vendor.HMACKeys) != 2 {
		t.Errorf("%d HMAC keys", len(s.vendor.HMACKeys))
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, s, in, zerolog.Nop()) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, <-ended)
	}
	var up ready
	if err := json.Unmarshal([]byte(line), &up); err != nil || !up.Ready || up.Live || up.PID != os.Getpid() || up.Events != up.URL+"/vendor/events" {
		t.Fatalf("%s %v", line, err)
	}
	for _, row := range []struct {
		method, path, token string
		status              int
	}{
		{http.MethodGet, "/healthz", "", 200}, {http.MethodGet, "/v1/processors/ADYEN", "", 401},
		{http.MethodGet, "/v1/processors/ADYEN", "token-of-the-ledger", 200}, {http.MethodPost, "/vendor/events", "", 400},
	} {
		r, err := http.NewRequestWithContext(t.Context(), row.method, up.URL+row.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+row.token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != row.status {
			t.Errorf("%s %s: %d %v", row.method, row.path, answer.StatusCode, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSettings: a wrong setting is refused with its name, and no error has a secret.
func TestSettings(t *testing.T) {
	good := []string{"--data", t.TempDir(), "--merchant-account", "TestMerchant"}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("no-hex-digits"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		args []string
		want string
		none string // a variable that is missing
	}{
		"no data":            {args: good[2:], want: "--data"},
		"no account":         {args: good[:2], want: "--merchant-account"},
		"open without TLS":   {args: append(good, "--listen", "0.0.0.0:1"), want: "--listen"},
		"plain Adyen":        {args: append(good, "--api-base", "http://checkout-test.adyen.com/v71"), want: "--api-base"},
		"argument":           {args: append(good, "key"), want: "arguments"},
		"unknown flag":       {args: append(good, "--api-key=x"), want: "doc.go"},
		"two HMAC keys":      {args: append(good, "--hmac-key-file", file), want: "both given"},
		"HMAC key is no hex": {args: append(good, "--hmac-key-file", file), want: "hexadecimal", none: "ADYEN_HMAC_KEY"},
		"no API key":         {args: good, want: "--api-key-file", none: "ADYEN_API_KEY"},
		"no token":           {args: good, want: "--token-file", none: "PAYLEDGER_PROCESSOR_TOKEN"},
	} {
		_, err := parse(row.args, func(variable string) (string, bool) {
			if variable == row.none {
				return "", false
			}
			return environment(variable)
		})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, secret := range append([]string{"no-hex-digits"}, secrets["ADYEN_API_KEY"], secrets["ADYEN_HMAC_KEY"], secrets["PAYLEDGER_PROCESSOR_TOKEN"]) {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error has a secret", name)
			}
		}
	}
	for _, args := range [][]string{
		append(good, "--live"), append(good, "--api-base", "https://x-checkout-live.adyenpayments.com/checkout/v71"), append(good, "--late", "1m"),
	} {
		s, err := parse(args, environment)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), s, io.Discard, zerolog.Nop()); err == nil {
			t.Errorf("%v runs", args)
		}
	}
}
