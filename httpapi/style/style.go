// Package style has the base stylesheet of payledger's own pages: the colours and sizes as custom properties, and text, buttons,
// forms, tables and notes. Each package with pages serves it beside its own stylesheet, at an address of its own.
//
// Rules: base.css has every colour. A page's own stylesheet places things, and takes its colours from the custom properties.
//
// What it must not know: which pages there are.
package style

import _ "embed"

//go:embed base.css
var base []byte

// Base returns the stylesheet. The caller must not change it.
func Base() []byte { return base }
