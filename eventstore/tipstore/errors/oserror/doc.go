// Package oserror tells the errors of files apart, also wrapped ones.
//
// # Place
//
//	storage     ► tipstore/errors/oserror
package oserror
