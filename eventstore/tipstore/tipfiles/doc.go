// Package tipfiles opens tip stores whose files Pebble keeps. Package tipstore knows no Pebble:
// only what opens a store imports this package, and links Pebble. The tests of both packages are
// here.
package tipfiles
