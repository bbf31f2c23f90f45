// Package health holds the problems of the notifier itself, by name, and the pauses between
// repetitions. A receiver's failure is no problem: it is the outcome of an attempt.
package health
