// Package apptest has what the tests of the whole service share: a service in the test's process or
// in a process of its own, a merchant who calls its API, clusters, disputes, workflows, back-ups,
// and the readers of its documentation.
//
// Package servicetest, and the packages below systemtest, call Main from their TestMain: it makes
// the test program the program payledger if a test starts it so.
//
// It must not know what a single test checks.
package apptest
