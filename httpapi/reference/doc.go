// Package reference returns what the calls of the API take, from openapi.yaml, in plain values: for
// programs that offer calls to others.
//
// The package must not know: who uses it, and what a call does.
package reference
