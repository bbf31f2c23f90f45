package export

import (
	"sync"

	fast "github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// rowGroup is the number of rows of a Parquet row group, which is held in memory until it is written.
const rowGroup = 20_000

// codec compresses the pages of all tables with one encoder: the library's own codec has encoders of 16 MB for each table.
type codec struct {
	zstd.Codec
	encoder func() *fast.Encoder
}

const window = 2 << 20

func newCodec() *codec {
	return &codec{encoder: sync.OnceValue(func() *fast.Encoder {
		e, err := fast.NewWriter(nil, fast.WithEncoderConcurrency(1), fast.WithZeroFrames(true), fast.WithEncoderCRC(false), fast.WithWindowSize(window))
		if err != nil {
			panic("export: " + err.Error())
		}
		return e
	})}
}

func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	return c.encoder().EncodeAll(src, dst[:0]), nil
}

var compression = newCodec()

type parquetWriter[T any] struct{ to *parquet.GenericWriter[T] }

func (w *parquetWriter[T]) write(rows []T) error {
	_, err := w.to.Write(rows)
	return err
}

func (w *parquetWriter[T]) close() error { return w.to.Close() }
