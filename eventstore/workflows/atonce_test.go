//go:build !race

package workflows_test

// rowsAtOnce is how many tests run at once: they wait for links and disks more than they compute.
const rowsAtOnce = "12"
