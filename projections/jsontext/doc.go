// Package jsontext appends JSON strings, byte for byte as encoding/json writes them, but without an
// allocation.
//
// The package must not know: what the strings mean.
package jsontext
