package validation

import (
	"hash/maphash"
	"slices"
)

// mostNoted is the number of names of a body that are noted to find repeated ones, known fields
// aside. A body with more is refused.
const mostNoted = 4096

// names are the names of an object's fields so far: in order, and from fewNames on in a table of
// their places in that order, which costs half of the memory of a map.
type names struct {
	all   []string
	table []uint16 // by hash: a place in all, from 1; 0 is free. At most half of it is taken.
}

// fewNames is the number of names up to which a search of all is quicker than a table.
const fewNames = 8

var nameSeed = maphash.MakeSeed()

// note adds a name, and reports whether it was there.
func (n *names) note(name string) (twice bool) {
	if n.table == nil {
		if slices.Contains(n.all, name) {
			return true
		}
	} else if at := n.find(name); n.table[at] != 0 {
		return true
	}
	n.all = append(n.all, name)
	switch {
	case len(n.all) <= fewNames:
	case 2*len(n.all) > len(n.table):
		n.table = make([]uint16, max(4*fewNames, 2*len(n.table)))
		for i, one := range n.all {
			n.table[n.find(one)] = uint16(i + 1) // mostNoted fits
		}
	default:
		n.table[n.find(name)] = uint16(len(n.all))
	}
	return false
}

// find returns the index in the table of a name, or of the free place for it.
func (n *names) find(name string) uint64 {
	mask := uint64(len(n.table) - 1)
	at := maphash.String(nameSeed, name) & mask
	for n.table[at] != 0 && n.all[n.table[at]-1] != name {
		at = (at + 1) & mask
	}
	return at
}

// object reads an object field by field.
func (r *reader) object(s *shape, depth int) (any, error) {
	if depth == maxNesting {
		return nil, errDeep
	}
	o := objectReader{reader: r, shape: s, depth: depth}
	if !s.flat {
		o.tree = map[string]any{}
	}
	from, begin, before := r.at, r.mark(), r.found
	if err := r.members(&o.gaps, o.member); err != nil {
		return nil, err
	}
	if o.above() {
		r.found = before
		r.wrong(s, "maxProperties", nil)
		r.reset(begin)
		r.replace(from, r.at, "{}")
		return map[string]any{}, nil
	}
	if missing := s.required &^ o.seen; missing != 0 && !r.found.full() {
		for i, f := range s.fields {
			if missing&(1<<i) != 0 {
				r.faultOf(f.name, "is required")
			}
		}
	}
	return o.tree, nil
}

type objectReader struct {
	*reader
	shape  *shape
	depth  int
	tree   map[string]any
	gaps   gaps
	seen   uint64 // known fields, but for null fields that count as absent
	named  uint64 // known fields
	names  names  // of other fields
	others int
}

func (o *objectReader) above() bool { return o.shape.most > 0 && o.others > o.shape.most }

// member reads a field from its name on, which begins at start.
func (o *objectReader) member(start int) error {
	if o.found.full() || o.above() {
		return o.skipMember(o.depth)
	}
	raw, err := o.name()
	if err != nil {
		return err
	}
	i, known := o.shape.byName[string(raw)]
	name := ""
	if known {
		if name = o.shape.fields[i].name; o.named&(1<<i) != 0 {
			return errTwice
		}
		o.named |= 1 << i
	} else if name = string(raw); o.repeated(&o.names, name) {
		return errTwice
	}
	if err := o.expect(':'); err != nil {
		return err
	}
	switch of := o.shape.others; {
	case o.next() == 'n' && (o.dropsNulls() || o.shape.dropsNulls):
		o.gaps.drop()
		return o.word("null")
	case known:
		o.seen |= 1 << i
		return o.keep(start, name, o.shape.fields[i].shape)
	case of == nil:
		o.gaps.drop()
		o.faultOf(name, o.shape.unknownField(name))
		o.checkName(name)
		return o.skip(o.depth+1, false)
	default:
		if o.others++; o.above() {
			return o.skip(o.depth+1, false)
		}
		o.checkName(name)
		return o.keep(start, name, of)
	}
}

func (o *objectReader) keep(start int, name string, of *shape) error {
	o.gaps.keep(&o.parser, start)
	v, err := o.valueAt(step{name, -1}, of, o.depth+1)
	if o.tree != nil {
		o.tree[name] = v
	}
	return err
}

// checkName adds the violations of a name that openapi.yaml does not have.
func (o *objectReader) checkName(name string) {
	if fault := controlFault(name, false); fault != "" {
		o.faultOf(name, fault)
	}
	if fault := cardFault(name, scanText); fault != "" {
		o.faultOf(name, fault)
	}
}

func (s *shape) unknownField(name string) string { return unknownName("field", name, s.names) }

// dropsNulls reports whether null fields at the current place are absent.
func (r *reader) dropsNulls() bool {
	return r.nulls == nullsDrop || r.nulls == nullsClear && r.arrays > 0
}

// repeated notes a name, and reports whether the object has it already. It notes no names above the
// limit of a body, which is refused for them: a repeated one among them would be seen by nobody.
func (r *reader) repeated(of *names, name string) bool {
	r.noted++
	if r.noted == mostNoted+1 {
		r.fault("has too many fields")
	}
	return r.noted <= mostNoted && of.note(name)
}

// members reads an object, and calls each at the begin of each name.
func (r *reader) members(g *gaps, each func(start int) error) error {
	r.at++ // the opening brace
	g.end = r.at
	if r.next() == '}' {
		r.at++
		return nil
	}
	for {
		if r.next() != '"' {
			return r.wrongByte()
		}
		kept := g.kept
		if err := each(r.at); err != nil {
			return err
		}
		if g.kept > kept {
			g.end = r.at
		}
		if r.next() != ',' {
			if r.next() == '}' {
				g.close(&r.parser)
			}
			return r.expect('}')
		}
		r.at++
	}
}

// skip passes over a value. A value that is kept loses the null fields that count as absent.
func (r *reader) skip(depth int, kept bool) error {
	switch r.next() {
	case '{':
		return r.skipObject(depth, kept)
	case '[':
		return r.skipArray(depth, kept)
	case '"':
		return r.skipString()
	case 't':
		return r.word("true")
	case 'f':
		return r.word("false")
	case 'n':
		return r.word("null")
	}
	if r.skipNumber() == noNumber {
		return r.wrongByte()
	}
	return nil
}

func (r *reader) skipArray(depth int, kept bool) error {
	if depth == maxNesting {
		return errDeep
	}
	r.at++ // the opening bracket
	if r.next() == ']' {
		r.at++
		return nil
	}
	r.arrays++
	for {
		if err := r.skip(depth+1, kept); err != nil {
			return err
		}
		if r.next() != ',' {
			r.arrays--
			return r.expect(']')
		}
		r.at++
	}
}

func (r *reader) skipObject(depth int, kept bool) error {
	if depth == maxNesting {
		return errDeep
	}
	var g gaps
	var noted names
	return r.members(&g, func(start int) error {
		if r.noted >= mostNoted || r.found.full() {
			if !kept {
				return r.skipMember(depth)
			}
		}
		raw, err := r.name()
		if err != nil {
			return err
		}
		if r.repeated(&noted, string(raw)) {
			return errTwice
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		if kept && r.next() == 'n' && r.dropsNulls() {
			g.drop()
			return r.word("null")
		}
		if kept {
			g.keep(&r.parser, start)
		}
		return r.skip(depth+1, kept)
	})
}

// skipMember passes over a field of an object at depth.
func (r *reader) skipMember(depth int) error {
	if err := r.skipString(); err != nil {
		return err
	}
	if err := r.expect(':'); err != nil {
		return err
	}
	return r.skip(depth+1, false)
}
