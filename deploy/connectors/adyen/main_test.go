package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"payledger/deploy/connectors/adyen/api"
)

var secrets = map[string]string{
	"ADYEN_API_KEY": "api-key-that-is-in-no-log", "ADYEN_HMAC_KEY": "44782DEF547AAA06C910C43932B1EB0C 00112233445566778899AABBCCDDEEFF",
	"PAYLEDGER_PROCESSOR_TOKEN": "token-of-the-ledger", "PAYLEDGER_PROCESSOR_SECRET": "secret-of-notifications",
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
		want string // in the error; "" for none
		none string // a variable that is missing
	}{
		"good":               {args: good},
		"no account":         {args: good[:2], want: "--merchant-account"},
		"plain Adyen":        {args: append(good, "--api-base", "http://checkout-test.adyen.com/v71"), want: "--api-base"},
		"HMAC key is no hex": {args: append(good, "--hmac-key-file", file), want: "hexadecimal", none: "ADYEN_HMAC_KEY"},
		"no API key":         {args: good, want: "--api-key-file", none: "ADYEN_API_KEY"},
		"live, test URL":     {args: append(good, "--live"), want: "other environment"},
		"test, live URL":     {args: append(good, "--api-base", "https://x-checkout-live.adyenpayments.com/checkout/v71"), want: "other environment"},
		"early":              {args: append(good, "--late", "1m"), want: "not safe"},
	} {
		var c api.Config
		p := adyen(&c)
		err := p.Parse(row.args, func(variable string) (string, bool) {
			text, set := secrets[variable]
			return text, set && variable != row.none
		})
		if err == nil {
			_, err = p.Vendor(zerolog.Nop())
		}
		switch {
		case row.want == "":
			if err != nil || len(c.HMACKeys) != 2 || c.APIKey != secrets["ADYEN_API_KEY"] || c.Account != "TestMerchant" {
				t.Errorf("%s: %+v %v", name, c, err)
			}
			continue
		case err == nil || !strings.Contains(err.Error(), row.want):
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, secret := range []string{"no-hex-digits", secrets["ADYEN_API_KEY"], secrets["ADYEN_HMAC_KEY"], secrets["PAYLEDGER_PROCESSOR_TOKEN"]} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error has a secret", name)
			}
		}
	}
}
