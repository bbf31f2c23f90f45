// Package signature signs webhooks and verifies them: a receiver checks a webhook in one call
// (§5.2).
//
// Rules:
//   - X-Signature-Primary is the base64 (standard alphabet, padded) of HMAC-SHA256 over the raw
//     body bytes, keyed with the UTF-8 text of the signing secret, "plsec_…" included (§5.2 rule
//     1).
//   - X-Signature-Secondary is present only for 24 hours after a rotation. Its key is the previous
//     secret. A receiver accepts either header, under any secret that it still holds (§5.2 rules 2
//     and 3).
//   - X-Signature-Listener is present only in the stream of a listener. Its key is the listener's
//     own secret (D18). Verify does not look at it.
//   - The body's signedAt (Unix seconds as a string) must lie within three minutes of the
//     receiver's clock (§5.2 rule 4). The dashboard's test message {"message": "…"} has no
//     signedAt; only its signature is checked (D17).
//
// Verify the received bytes: decoding and encoding the body again gives other bytes. A webhook may
// arrive twice (§6.1): detect duplicates by eventId and eventType (D17).
//
// testdata/vectors.json has test vectors for receivers in any language: secrets, headers, body, the
// receiver's clock, and the expected result. The guide httpapi/docs/guides/webhooks.md has
// functions for other languages; a test of package docs runs them on the vectors.
//
// The package is for receivers: it imports the standard library only and knows nothing of
// payledger.
package signature
