// Package zstd takes the place of github.com/DataDog/zstd, which compiles the C sources of zstd.
// Pebble uses it where a C compiler is installed. The build then took a minute of CPU time more,
// and needed gcc. This package has the functions that Pebble calls, on klauspost/compress, which
// Pebble itself uses without a C compiler. The tip store compresses nothing with zstd.
//
// # Place
//
//	storage     ► tipstore/zstd
package zstd
