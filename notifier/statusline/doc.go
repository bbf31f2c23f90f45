// Package statusline finds the status line in the bytes of an HTTP/1 answer. The status line alone
// decides about a webhook's success (D18). net/http returns no status for an answer whose header it
// refuses: two Transfer-Encodings, a Content-Length of "2, 2", a line without a colon, 70 KB. The
// receiver has taken the webhook all the same, and a repeat of it would be wrong.
//
// Rules:
//   - A line counts when it is complete, and has the form "HTTP/1.1 200" with three digits.
//   - Answers 100 to 199 except 101 come before the answer; their headers are passed over.
//
// The package must not know: webhooks, what an answer's header or body means.
package statusline
