package parquetfile

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
)

// The numbers of the Parquet format (parquet.thrift).
const (
	physicalInteger64 = 2
	physicalBytes     = 6
	encodingPlain     = 0
	encodingRLE       = 3
	encodingIndexes   = 8 // of the dictionary
	codecZstd         = 6
	pageData          = 0
	pageDictionary    = 2
)

// The limits of a page and of the texts in the statistics, in bytes.
const (
	pageLimit = 1 << 20
	textLimit = 64
)

// chunk is a column's part of the open row group.
type chunk struct {
	column Column
	pages  []byte // the ended ones, compressed
	raw    int64  // bytes of all pages with their heads, before compression

	// The open page.
	levels  []uint32 // 1 for a value, 0 for a null
	plain   []byte   // the values
	indexes []uint32 // of the values in the dictionary

	dictionary map[string]uint32
	entries    []byte // of the dictionary, in the order of their indexes

	nulls    int64
	numbers  extremes[int64]
	texts    extremes[string]
	longText bool // the statistics have no texts
}

// extremes are the smallest and the largest value.
type extremes[T cmp.Ordered] struct {
	known           bool
	least, greatest T
}

func (e *extremes[T]) add(value T) {
	if !e.known {
		*e = extremes[T]{true, value, value}
		return
	}
	e.least, e.greatest = min(e.least, value), max(e.greatest, value)
}

func newChunk(c Column) *chunk {
	of := &chunk{column: c}
	if c.Dictionary {
		of.dictionary = map[string]uint32{}
	}
	return of
}

// reset begins the next row group.
func (c *chunk) reset() {
	clear(c.dictionary)
	*c = chunk{
		column: c.column, pages: c.pages[:0], levels: c.levels[:0], plain: c.plain[:0], indexes: c.indexes[:0],
		dictionary: c.dictionary, entries: c.entries[:0],
	}
}

func (c *chunk) null() {
	c.levels = append(c.levels, 0)
	c.nulls++
}

func (c *chunk) integer(value int64) {
	c.levels = append(c.levels, 1)
	c.numbers.add(value)
	c.plain = binary.LittleEndian.AppendUint64(c.plain, uint64(value))
	c.limit()
}

func (c *chunk) text(value string) {
	c.levels = append(c.levels, 1)
	if c.longText = c.longText || len(value) > textLimit || c.column.Kind == JSON; !c.longText {
		c.texts.add(value)
	}
	if !c.column.Dictionary {
		c.plain = append(little32(c.plain, len(value)), value...)
		c.limit()
		return
	}
	index, known := c.dictionary[value]
	if !known {
		index = uint32(len(c.dictionary))
		c.dictionary[value] = index
		c.entries = append(little32(c.entries, len(value)), value...)
	}
	c.indexes = append(c.indexes, index)
}

// limit ends the page if it is large.
func (c *chunk) limit() {
	if len(c.plain) >= pageLimit {
		c.endPage()
	}
}

// endPage appends the open page to the ended ones.
func (c *chunk) endPage() {
	if len(c.levels) == 0 {
		return
	}
	var page []byte
	if c.column.Optional {
		levels := appendRuns(nil, c.levels, 1)
		page = append(little32(page, len(levels)), levels...)
	}
	encoding := encodingPlain
	if c.hasDictionary() {
		encoding = encodingIndexes
		width := indexWidth(len(c.dictionary))
		page = appendRuns(append(page, byte(width)), c.indexes, width)
	} else {
		page = append(page, c.plain...)
	}
	var head fields
	head.integer32(1, len(c.levels))
	head.integer32(2, encoding)
	head.integer32(3, encodingRLE)
	head.integer32(4, encodingRLE)
	c.pages = append(c.pages, c.page(pageData, 5, head.end(), page)...)
	c.levels, c.plain, c.indexes = c.levels[:0], c.plain[:0], c.indexes[:0]
}

// indexWidth returns the bits of an index in a dictionary of n entries.
func indexWidth(n int) int { return max(1, bits.Len(uint(n-1))) }

// hasDictionary reports whether the row group has a dictionary for the column: one that has nulls
// only has none.
func (c *chunk) hasDictionary() bool { return len(c.dictionary) > 0 }

// dictionaryPage returns the page of the column's dictionary.
func (c *chunk) dictionaryPage() []byte {
	var head fields
	head.integer32(1, len(c.dictionary))
	head.integer32(2, encodingPlain)
	return c.page(pageDictionary, 7, head.end(), c.entries)
}

// page returns a page with its head, in which a field has the number and the value of the page's
// kind.
func (c *chunk) page(kind, number int, head, data []byte) []byte {
	compressed := compression().EncodeAll(data, nil)
	var whole fields
	whole.integer32(1, kind)
	whole.integer32(2, len(data))
	whole.integer32(3, len(compressed))
	whole.integer32(4, int(int32(crc32.ChecksumIEEE(compressed))))
	whole.value(number, typeStruct, head)
	begin := whole.end()
	c.raw += int64(len(begin) + len(data))
	return slices.Concat(begin, compressed)
}

func (c *chunk) encodings() []int {
	if c.hasDictionary() {
		return []int{encodingPlain, encodingRLE, encodingIndexes}
	}
	return []int{encodingPlain, encodingRLE}
}

func (c *chunk) physical() int {
	if c.column.Kind == Integer || c.column.Kind == Time {
		return physicalInteger64
	}
	return physicalBytes
}

// statistics returns the number of nulls, and the smallest and the largest value if the group has
// one.
func (c *chunk) statistics() []byte {
	var s fields
	s.integer64(3, c.nulls)
	switch {
	case c.numbers.known:
		s.value(5, typeBinary, text(string(binary.LittleEndian.AppendUint64(nil, uint64(c.numbers.greatest)))))
		s.value(6, typeBinary, text(string(binary.LittleEndian.AppendUint64(nil, uint64(c.numbers.least)))))
	case c.texts.known && !c.longText:
		s.text(5, c.texts.greatest)
		s.text(6, c.texts.least)
	}
	return s.end()
}

// schema returns the description of the column: its former (6) and its present form (10).
func (c *chunk) schema() []byte {
	var of, logical, empty fields
	former, number, present := 0, 1, empty.end() // a text
	switch c.column.Kind {
	case Text:
	case Integer:
		var signed fields
		signed.value(1, typeByte, []byte{64})
		signed.value(2, typeTrue, nil)
		former, number, present = 18, 10, signed.end()
	case Time:
		var time, unit fields
		unit.value(2, typeStruct, []byte{0})
		time.value(1, typeTrue, nil) // UTC
		time.value(2, typeStruct, unit.end())
		former, number, present = 10, 8, time.end()
	case JSON:
		former, number, present = 19, 12, []byte{0}
	}
	logical.value(number, typeStruct, present)
	of.integer32(1, c.physical())
	optional := 0
	if c.column.Optional {
		optional = 1
	}
	of.integer32(3, optional)
	of.text(4, c.column.Name)
	of.integer32(6, former)
	of.value(10, typeStruct, logical.end())
	return of.end()
}
