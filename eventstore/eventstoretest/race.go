//go:build race

package eventstoretest

const race = true
