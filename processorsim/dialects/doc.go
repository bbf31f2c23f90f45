// Package dialects reads disputes in the own words of the simulated processors (D14.11, D16), and
// in the protocol's own form, which any processor may send. A name without a form of its own has
// that one. Package simulator/dialect writes the own words; both sides have them from here.
//
// It must not know: HTTP, signatures, which values the ledger accepts.
package dialects
