// Package service builds the services of package commands, which depend on each other, and ends
// them together.
//
// The tests of a service stand in its own package, and run all services together (package
// commandstest). The tests here belong to no single service.
//
// The package must not know: rules. It has no commands of its own.
package service
