// Package errors takes the place of github.com/cockroachdb/errors, with which Pebble makes its
// errors. That package can send errors to other machines and to Sentry: two libraries of protocol
// buffers and Sentry's client came with it. This package has the functions that Pebble calls, on
// package errors of the standard library.
//
// Differences: an error has no stack, and a text of details, hints and second errors is not kept:
// Pebble's Error() never had it. Two errors are the same if they are the same value, or if one was
// marked with the other; equal texts do not count.
//
// # Place
//
//	storage     ► tipstore/errors
package errors
