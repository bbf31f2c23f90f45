package main

import (
	"encoding/hex"
	"errors"
	"strings"

	"github.com/rs/zerolog"

	"payledger/deploy/connectors/adyen/api"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/connector/program"
)

func main() { adyen(&api.Config{}).Main() }

// adyen returns the program. Its settings are in c when its vendor is made.
func adyen(c *api.Config) *program.Program {
	webhook := ""
	p := program.New("adyen", processor.Adyen, "127.0.0.1:8481")
	p.Secret(&c.APIKey, "api-key-file", "ADYEN_API_KEY", "the key of the API credential")
	p.Secret(&webhook, "hmac-key-file", "ADYEN_HMAC_KEY", "the hexadecimal HMAC key of the standard webhook, two while one is replaced")
	p.Flags.StringVar(&c.Account, "merchant-account", "", "`NAME` of the merchant account, required")
	p.Flags.BoolVar(&c.Live, "live", false, "payments move real money; it needs the account's own --api-base")
	p.API(&c.URL, "api-base", "https://checkout-test.adyen.com/v71", "the Checkout API")
	p.Page(&c.ReturnURL, "return-url", "https://localhost/", "the page for customers, which Adyen requires")
	p.Flags.DurationVar(&c.Late, "late", 0, "`TIME` after which a payment without any answer is cancelled (default 30m)")
	p.Vendor = func(log zerolog.Logger) (connector.Vendor, error) {
		c.Log = log
		if c.Account == "" {
			return nil, errors.New("--merchant-account NAME is missing")
		}
		for text := range strings.FieldsSeq(webhook) {
			key, err := hex.DecodeString(text)
			if err != nil {
				return nil, errors.New("the HMAC key is not hexadecimal") // err repeats a part of it
			}
			c.HMACKeys = append(c.HMACKeys, key)
		}
		return api.New(*c)
	}
	return p
}
