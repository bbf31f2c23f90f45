// Package terminal distinguishes output for people from output for scripts (I1): text on a
// terminal, and JSON lines elsewhere.
package terminal
