package main

import (
	"strings"

	"github.com/rs/zerolog"

	"payledger/deploy/connectors/stripe/api"
	"payledger/domain/processor"
	"payledger/processorsim/connector"
	"payledger/processorsim/connector/program"
)

func main() { stripe(&api.Config{}).Main() }

// stripe returns the program. Its settings are in c when its vendor is made.
func stripe(c *api.Config) *program.Program {
	webhook := ""
	p := program.New("stripe", processor.Stripe, "127.0.0.1:8480")
	p.Secret(&c.Key, "api-key-file", "STRIPE_API_KEY", "the secret or restricted key of the account")
	p.Secret(&webhook, "webhook-secret-file", "STRIPE_WEBHOOK_SECRET", "the signing secret of the webhook endpoint, two while one is replaced")
	p.Flags.BoolVar(&c.Multicapture, "multicapture", false, "the account has multicapture")
	p.Page(&c.ReturnURL, "return-url", "", "the page for a customer who comes from the bank, if the ledger names none")
	p.API(&c.Base, "api-base", "", "another API in the place of Stripe's, for tests")
	p.Vendor = func(zerolog.Logger) (connector.Vendor, error) {
		c.WebhookSecrets = strings.Fields(webhook)
		return api.New(*c)
	}
	return p
}
