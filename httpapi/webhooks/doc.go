// Package webhooks serves the calls about webhook deliveries and replays (D18, D20): list, read,
// resend, replay, and read the records for an export.
//
// The package must not know: how a webhook is sent, how an answer is written.
package webhooks
