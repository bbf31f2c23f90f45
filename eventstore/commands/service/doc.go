// Package service builds the services of package commands, which depend on each other, and ends
// them together.
//
// The tests of a service run all services together (package commandstest). They stand in the folder
// above, or in the service's own.
//
// The package must not know: rules. It has no commands of its own.
package service
