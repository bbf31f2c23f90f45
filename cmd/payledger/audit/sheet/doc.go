// Package sheet prints the comparison of the ledger with the processors' books: a table with the
// next step of each difference, or JSON (I1).
package sheet
