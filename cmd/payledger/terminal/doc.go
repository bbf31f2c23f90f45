// Package terminal tells output for people from output for scripts (I1): on a terminal people read a text, and elsewhere
// scripts read JSON lines.
package terminal
