// Package sender makes one HTTP attempt of a message: it signs the body, posts it through the guard, and classifies the
// answer (§5.2, §6.1, D18).
//
// Success is any 2xx status. Redirects are failures and are not followed. The sender keeps the first 512 bytes of an answer,
// unless they repeat the webhook, personal data of it or a secret, also escaped for JSON, HTML or URLs, or cut off.
//
// HTTP/1.1 only: a connection carries one attempt, so a hanging attempt delays no other. Idle connections close after 3 s,
// earlier than common servers close theirs: a POST on a connection that its server closes would be lost. The sender reads
// an answer's body for a second at most, and not at all after 101 Switching Protocols, because no deadline ends that.
//
// The package must not know: deliveries' schedules, the log.
package sender
