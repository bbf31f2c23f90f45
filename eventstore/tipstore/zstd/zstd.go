package zstd

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Ctx compresses and decompresses.
type Ctx interface {
	// CompressLevel compresses src into the memory of dst, if it has the capacity of CompressBound.
	CompressLevel(dst, src []byte, level int) ([]byte, error)
	// DecompressInto decompresses src into dst and returns the length. An error: dst is too small,
	// or src is damaged.
	DecompressInto(dst, src []byte) (int, error)
}

// NewCtx returns a Ctx.
func NewCtx() Ctx { return ctx{} }

// CompressBound returns a length that n bytes never exceed when they are compressed.
func CompressBound(n int) int { return n + n>>8 + 1<<10 }

var reader = sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)) })

type ctx struct{}

func (ctx) CompressLevel(dst, src []byte, level int) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.EncodeAll(src, dst[:0]), nil
}

func (ctx) DecompressInto(dst, src []byte) (int, error) {
	r, err := reader()
	if err != nil {
		return 0, err
	}
	whole, err := r.DecodeAll(src, dst[:0:len(dst)])
	if err == nil && len(whole) > len(dst) {
		err = errors.New("zstd: the destination is too small")
	}
	return len(whole), err
}
