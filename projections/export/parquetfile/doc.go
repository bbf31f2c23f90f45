// Package parquetfile writes Parquet files of flat tables: columns of texts, integers and times,
// each of which may have nulls.
//
// Rules:
//
//   - A file has row groups of an agreed number of rows; only the last one is shorter. A column of
//     a row group has a dictionary, if the column has few different values, and data pages of the
//     first version: the readers of all tools know them.
//   - A page is compressed with zstd and has its checksum.
//   - The smallest and the largest value of a column stand in its row group, so that a reader can
//     leave groups out, unless it is a long text. A text's order is that of its bytes.
//   - Memory holds the row group, compressed but for a page of each column, and of each row group
//     before it the description that ends the file: about 0.1 bytes a row.
//
// It must not know: the tables.
//
// Design notes. The writer of github.com/parquet-go/parquet-go took 24 of the 266 CPU seconds of a
// build from nothing, because it compiles each encoding for each type and brings brotli. This
// package needs the few encodings that the tables use. The tests read its files with that library,
// and the tests of whole systems with DuckDB and hyparquet.
package parquetfile
