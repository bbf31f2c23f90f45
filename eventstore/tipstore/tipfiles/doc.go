// Package tipfiles opens tip stores whose files Pebble keeps. Package tipstore knows no Pebble:
// only what opens a store imports this package, and links Pebble.
//
// The tests of both packages stand here, and those of package applied that need a store.
//
// # Place
//
//	log           engine, verify
//	servers       archive
//	storage     ► tipstore/tipfiles
//	storage       tipstore
package tipfiles
