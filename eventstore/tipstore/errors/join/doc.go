// Package join joins errors.
//
// # Place
//
//	streams     ► tipstore/errors/join
package join
