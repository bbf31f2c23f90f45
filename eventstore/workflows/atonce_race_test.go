//go:build race

package workflows_test

// rowsAtOnce is how many tests run at once: under the race detector they compute more than they wait.
const rowsAtOnce = "3"
