// Package apikey is the format of API keys (D2): plk_sandbox_<keyId>_<secret> or plk_live_…, in
// base62. The last six characters are a checksum, so that scanners and the server reject a typo
// without a look-up: the CRC-32/IEEE of the text before them, in base62, left-padded with 0.
//
// The id and the secret are random. A key is shown once, and stored as the SHA-256 of its text.
//
// # Place
//
//	outside       httpapi
//	application   commands/accounts
//	application ► secrets/apikey
package apikey
