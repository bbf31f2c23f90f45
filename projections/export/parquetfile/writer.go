package parquetfile

import "io"

// Kind is the type of a column.
type Kind int

// The kinds. Time is in microseconds since 1970, UTC.
const (
	Text Kind = iota
	Integer
	Time
	JSON
)

// Column is one column of a file.
type Column struct {
	Name       string
	Kind       Kind
	Optional   bool // it may have nulls
	Dictionary bool // of texts: few of them differ
}

// Writer writes one file. A row has a value for each column, then EndRow ends it.
type Writer struct {
	to       io.Writer
	offset   int64 // the next byte's
	name     string
	columns  []*chunk
	perGroup int
	rows     int // of the open row group
	total    int64
	groups   list // their descriptions
	err      error
}

// New returns the writer of a file. The name is that of the schema; a row group has perGroup rows.
func New(to io.Writer, name string, perGroup int, columns []Column) *Writer {
	w := &Writer{to: to, name: name, perGroup: perGroup}
	for _, c := range columns {
		w.columns = append(w.columns, newChunk(c))
	}
	w.bytes([]byte(magic))
	return w
}

const magic = "PAR1"

// bytes writes the next bytes of the file. After an error it does nothing.
func (w *Writer) bytes(data []byte) {
	if w.err != nil {
		return
	}
	n, err := w.to.Write(data)
	w.offset, w.err = w.offset+int64(n), err
}

// Null is the row's value in an optional column.
func (w *Writer) Null(column int) { w.columns[column].null() }

// Integer is the row's value in a column of integers or times.
func (w *Writer) Integer(column int, value int64) { w.columns[column].integer(value) }

// Text is the row's value in a column of texts or JSON.
func (w *Writer) Text(column int, value string) { w.columns[column].text(value) }

// EndRow ends a row.
func (w *Writer) EndRow() error {
	if w.rows++; w.rows == w.perGroup {
		w.endGroup()
	}
	return w.err
}

// endGroup writes the open row group.
func (w *Writer) endGroup() {
	var chunks list
	start, raw := w.offset, int64(0)
	for _, c := range w.columns {
		chunks.add(w.endChunk(c))
		raw += c.raw
		c.reset()
	}
	var group fields
	group.list(1, typeStruct, chunks)
	group.integer64(2, raw)
	group.integer64(3, int64(w.rows))
	group.integer64(5, start)
	group.integer64(6, w.offset-start)
	w.groups.add(group.end())
	w.total, w.rows = w.total+int64(w.rows), 0
}

// endChunk writes the column's part of the open row group, and returns its description.
func (w *Writer) endChunk(c *chunk) []byte {
	c.endPage()
	start := w.offset
	if c.hasDictionary() {
		w.bytes(c.dictionaryPage())
	}
	data := w.offset
	w.bytes(c.pages)

	var encodings list
	for _, e := range c.encodings() {
		encodings.add(integer(e))
	}
	var meta fields
	meta.integer32(1, c.physical())
	meta.list(2, typeInteger32, encodings)
	meta.list(3, typeBinary, listOf(text(c.column.Name)))
	meta.integer32(4, codecZstd)
	meta.integer64(5, int64(w.rows))
	meta.integer64(6, c.raw)
	meta.integer64(7, w.offset-start)
	meta.integer64(9, data)
	if c.hasDictionary() {
		meta.integer64(11, start)
	}
	meta.value(12, typeStruct, c.statistics())

	var described fields
	described.integer64(2, start)
	described.value(3, typeStruct, meta.end())
	return described.end()
}

// Close ends the file. It does not close what the file is written to.
func (w *Writer) Close() error {
	if w.rows > 0 {
		w.endGroup()
	}
	footer := w.footer()
	w.bytes(footer)
	w.bytes(little32(nil, len(footer)))
	w.bytes([]byte(magic))
	return w.err
}

// footer returns the description of the file.
func (w *Writer) footer() []byte {
	var root fields
	root.text(4, w.name)
	root.integer32(5, len(w.columns))
	schema := listOf(root.end())
	var orders list
	for _, c := range w.columns {
		schema.add(c.schema())
		var byType fields
		byType.value(1, typeStruct, (&fields{}).end())
		orders.add(byType.end())
	}
	var file fields
	file.integer32(1, 1)
	file.list(2, typeStruct, schema)
	file.integer64(3, w.total)
	file.list(4, typeStruct, w.groups)
	file.text(6, "payledger")
	file.list(7, typeStruct, orders)
	return file.end()
}
