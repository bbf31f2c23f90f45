// Package oserror tells the errors of files apart, also wrapped ones.
//
// # Place
//
//	streams     ► tipstore/errors/oserror
package oserror
