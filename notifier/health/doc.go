// Package health holds the problems of the notifier itself, by name, and the waits between repetitions. A receiver that
// fails is no problem: it is the outcome of an attempt.
package health
