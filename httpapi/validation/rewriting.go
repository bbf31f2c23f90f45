package validation

// rewriting is a text, and what it is rewritten to: out, then the text from copied on. out is nil
// while nothing has changed.
type rewriting struct {
	text   []byte
	out    []byte
	copied int
}

// replace replaces a part of the text that follows all parts replaced so far.
func (w *rewriting) replace(from, to int, by string) {
	if w.out == nil {
		w.out = make([]byte, 0, len(w.text))
	}
	w.out, w.copied = append(append(w.out, w.text[w.copied:from]...), by...), to
}

type mark struct{ out, copied int }

func (w *rewriting) mark() mark { return mark{len(w.out), w.copied} }

// reset takes back the replacements since a mark.
func (w *rewriting) reset(m mark) { w.out, w.copied = w.out[:m.out], m.copied }

// since returns the rewritten text from a place to another; m is the mark of the first.
func (w *rewriting) since(m mark, from, to int) string {
	if w.copied <= from {
		return string(w.text[from:to])
	}
	before := from - m.copied // of the text that was copied since the mark
	return string(w.out[m.out+before:]) + string(w.text[w.copied:to])
}

func (w *rewriting) rewritten() []byte {
	if w.out == nil {
		return w.text
	}
	return append(w.out, w.text[w.copied:]...)
}

// gaps are the fields of an object that are left out of the text.
type gaps struct {
	end  int // of the last field that is kept, or behind the opening brace
	kept int
	open bool // fields behind end are left out
}

func (g *gaps) drop() { g.open = true }

// keep keeps the field that begins at start.
func (g *gaps) keep(p *parser, start int) {
	if g.open {
		by := ""
		if g.kept > 0 {
			by = ","
		}
		p.replace(g.end, start, by)
		g.open = false
	}
	g.kept++
}

// close ends the object, whose closing brace is the next byte.
func (g *gaps) close(p *parser) {
	if g.open {
		p.replace(g.end, p.at, "")
	}
}
