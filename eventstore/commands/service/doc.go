// Package service builds the services of package commands, which depend on each other, and ends them together.
//
// Its tests run all services on one embedded server and the simulator: each effect of a command fails, is lost, or
// happens twice (TestCrashMatrix), and clients on several nodes change the same payments (TestKeysAreLinearizable, TestMoneyIsLinearizable).
//
// The package must not know: rules. It has no commands of its own.
package service
