// Package join joins errors.
//
// # Place
//
//	storage     ► tipstore/errors/join
package join
