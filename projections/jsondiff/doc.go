// Package jsondiff compares two values as JSON and lists the differences of their leaves by path.
//
// The history of a payment and the audit log show changes in this form.
//
// The package must not know: the values that it compares.
package jsondiff
