// Package style has the base stylesheet of payledger's own pages: the colours and sizes as custom
// properties, and text, buttons, forms, tables and notes. It loads the files of a package with
// pages, which serves them, and the base stylesheet if it uses it, at addresses of its own.
//
// Rules: base.css has every colour. A page's own stylesheet places things, and takes its colours
// from the custom properties.
//
// The package must not know: which pages there are.
package style

import _ "embed"

//go:embed base.css
var base []byte
