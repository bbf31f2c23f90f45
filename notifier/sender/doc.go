// Package sender makes one HTTP attempt of a message: it signs the body, posts it through the
// guard, and classifies the answer (§5.2, §6.1, D18).
//
// Success is any 2xx status. Redirects are failures and are not followed. The sender keeps the
// first 512 bytes of an answer, unless these contain a copy of the webhook, its personal data or a
// secret. It also finds copies that are cut off, or escaped for JSON, HTML or URLs.
//
// The sender uses HTTP/1.1 only: a connection has one attempt at a time, so a hanging attempt
// delays no other. Idle connections close after 3 s, earlier than common servers close theirs: a
// POST on a connection that the server closes would be lost. The status line decides also if
// net/http refuses the header that follows it (package statusline). The sender reads an answer
// behind its status line for a second at most, and no body after 101 Switching Protocols, because
// no deadline ends that read.
//
// A DNS look-up, a connection and a handshake can take as long as an attempt. So the sender asks
// the message whether it is still fresh after all of these, immediately before the first byte
// (firstbyte.go). If not, nothing is sent.
//
// The package must not know: deliveries' schedules, the log.
package sender
